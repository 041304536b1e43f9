package envtest

// delete is written by the engineer of writes; until then it is refused.
func (s *Server) delete(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
