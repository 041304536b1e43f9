package envtest

// update is written by the engineer of writes; until then it is refused.
func (s *Server) update(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
