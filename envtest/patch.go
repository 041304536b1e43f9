package envtest

// patch is written by the engineer of writes; until then it is refused.
func (s *Server) patch(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
