// Package smtptest runs a mail server that refuses, fails and disconnects on demand.
package smtptest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// User and Password are the credentials that the server accepts.
const (
	User     = "desk"
	Password = "correct horse"
)

// Server is a mail server on loopback.
type Server struct {
	Port int
	TLS  *tls.Config // TLS trusts the server's certificate

	mu       sync.Mutex
	received []string
	offered  []string
	// Rcpt and Data, if set, decide about each recipient and each text. A text for which Data returns ErrDrop was taken.
	rcpt, data func() error
	onStep     func(step Step, recipient string)
	logins     int
}

// Step is a moment of the delivery of a mail.
type Step string

const (
	Recipient Step = "recipient" // Recipient is before the answer to the recipient's address
	Taken     Step = "taken"     // Taken is after the server took the text, before it answers
	Answered  Step = "answered"  // Answered is after the answer to the text
)

// ErrDrop makes the server take a text and disconnect without an answer.
var ErrDrop = errors.New("disconnect")

// Start starts a server that ends with the test. implicit means that connections use TLS from the first byte; otherwise the server offers
// STARTTLS.
func Start(t testing.TB, implicit bool) *Server {
	t.Helper()
	certificates := httptest.NewTLSServer(nil)
	certificates.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(certificates.Certificate())
	s := &Server{TLS: &tls.Config{RootCAs: trusted}}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &session{server: s, conn: c}, nil }))
	server.TLSConfig = &tls.Config{Certificates: certificates.TLS.Certificates}
	server.Domain = "mail.test"
	server.ErrorLog = silent{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, _ := l.Addr().(*net.TCPAddr)
	s.Port = address.Port
	if implicit {
		l = tls.NewListener(l, server.TLSConfig)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return s
}

// Answer sets the functions that decide about recipients and texts. The error that one returns is the server's answer; nil accepts all.
func (s *Server) Answer(rcpt, data func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rcpt, s.data = rcpt, data
}

// OnStep sets a function that is called at each step of each delivery. The server waits until it returns.
func (s *Server) OnStep(f func(step Step, recipient string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onStep = f
}

// reach calls the function that OnStep has set.
func (s *Server) reach(step Step, recipient string) {
	s.mu.Lock()
	f := s.onStep
	s.mu.Unlock()
	if f != nil {
		f(step, recipient)
	}
}

// Received returns the mails that the server accepted, in their wire format.
func (s *Server) Received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.received...)
}

// Offered returns the mails that clients have sent, including those that the server refused.
func (s *Server) Offered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.offered)
}

// Logins returns how often a client authenticated.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

type session struct {
	server *Server
	conn   *smtp.Conn
	to     string // to is the last recipient
	taken  bool   // taken means that a text was taken and its answer is not sent yet
}

func (x *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (x *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != User || password != Password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password for " + user + "@example.com"}
		}
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		x.server.logins++
		return nil
	}), nil
}

func (x *session) Mail(string, *smtp.MailOptions) error { return nil }

func (x *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	x.to = to
	x.server.reach(Recipient, to)
	x.server.mu.Lock()
	answer := x.server.rcpt
	x.server.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer()
}

func (x *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	x.server.mu.Lock()
	x.server.offered = append(x.server.offered, string(raw))
	answer := x.server.data
	x.server.mu.Unlock()
	if answer != nil {
		err = answer()
	}
	if err == nil || errors.Is(err, ErrDrop) {
		x.server.mu.Lock()
		x.server.received = append(x.server.received, string(raw))
		x.server.mu.Unlock()
		x.taken = true
		x.server.reach(Taken, x.to)
	}
	if errors.Is(err, ErrDrop) {
		_ = x.conn.Conn().Close() // the client sees the end of the connection instead of an answer
	}
	return err
}

// Reset implements smtp.Session. The library calls it after the answer to a text.
func (x *session) Reset() {
	if x.taken {
		x.taken = false
		x.server.reach(Answered, x.to)
	}
}

func (*session) Logout() error { return nil }

type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
