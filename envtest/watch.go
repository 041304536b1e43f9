package envtest

// watch streams changes.
func (s *Server) watch(c *call) (*answer, error) { return nil, errMethodNotAllowed() }
