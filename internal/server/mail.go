package server

import (
	"strings"
	"time"

	"latchkey.dev/internal/worker"
)

// wireMail creates the parts that send mails and that invite guests to check in.
func (s *Server) wireMail(p *parts) error {
	rules, err := mailRules(s.cfg)
	if err != nil {
		return err
	}
	p.mails = worker.Mails{DB: s.db, Keys: s.keys, Jobs: s.jobs, Reservations: p.reservations, BaseURL: s.PublicURL, InvitationURL: s.invitationURL, Dial: rules.Dialer(mailDialTimeout), Log: s.log, Every: s.sweep, Ended: s.measures.recordMail,
		GuestsReadMailbox: s.guestsReadMailbox}
	p.mailServers = rules
	p.invitations = worker.Invitations{Keys: s.keys, Jobs: s.jobs, Reservations: p.reservations, Every: s.sweep}
	return nil
}

// mailPorts are the ports of mail servers that properties may use, in addition to 443 and 8443. A server in --mail-allow may have another
// port.
var mailPorts = []uint16{25, 465, 587, 2525}

// mailDialTimeout limits how long it may take to open a connection to a mail server.
const mailDialTimeout = 10 * time.Second

// PublicURL returns the configured URL at which guests and staff reach the pages, or that of the HTTP listener. It has no slash at its
// end.
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
