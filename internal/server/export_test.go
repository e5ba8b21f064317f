package server

import "latchkey.dev/internal/db"

// Database is the server's database.
func (s *Server) Database() *db.DB { return s.db }
