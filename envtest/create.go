package envtest

// create is written by the engineer of writes; until then it is refused.
func (s *Server) create(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
