package envtest

// deleteCollection is written by the engineer of writes; until then it is refused.
func (s *Server) deleteCollection(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
