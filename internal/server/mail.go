package server

import (
	"strings"

	"latchkey.dev/internal/worker"
)

// wireMail creates the jobs that send mails, and the sweep that invites guests.
func (s *Server) wireMail(p *parts) {
	p.mails = worker.Mails{DB: s.db, Keys: s.keys, Jobs: s.jobs, Reservations: p.reservations, BaseURL: s.PublicURL, Log: s.log}
	p.invitations = worker.Invitations{Keys: s.keys, Jobs: s.jobs, Reservations: p.reservations, Every: s.sweep}
}

// PublicURL returns the address with which links to pages begin, without a slash at its end.
func (s *Server) PublicURL() string {
	if s.cfg.PublicURL != "" {
		return strings.TrimSuffix(s.cfg.PublicURL, "/")
	}
	scheme := "http://"
	if s.cfg.TLS.On() {
		scheme = "https://"
	}
	return scheme + s.HTTPAddr()
}
