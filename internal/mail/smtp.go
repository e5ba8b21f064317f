package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"latchkey.dev/internal/text"
)

// Values of Security: how a connection to a mail server is encrypted.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	NoTLS    = "none"
)

// Server is a mail server with the property's credentials and sender.
type Server struct {
	Host                           string
	Port                           int
	Security                       string
	User, Password                 string
	FromAddress, FromName, ReplyTo string
	// Dial connects to allowed addresses only.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // TLS has the trusted certificates; nil: those of the machine
}

// Time limits of the exchange with a mail server. Their sum is below the time limit of a job.
const (
	greetTimeout    = 30 * time.Second // for connection, encryption and authentication together
	transmitTimeout = 60 * time.Second // from MAIL FROM to the answer to the text of the mail
)

// SendError is why a mail server did not take a mail.
type SendError struct {
	Failure Failure
	Answer  string // Answer is what the server answered, shortened and without addresses
	Retry   bool   // Retry means that a later attempt may succeed
}

func (e *SendError) Error() string { return strings.TrimSpace(string(e.Failure) + ": " + e.Answer) }

// Final returns the failure of a mail that is given up after this error. A recipient who was refused only for now, whenever the mail was
// tried, is not FailedRecipient: that would be a bounce, and block the address.
func (e *SendError) Final() Failure {
	if e.Retry && e.Failure == FailedRecipient {
		return FailedRefused
	}
	return e.Failure
}

// sendError returns the failure of a step of the transfer. Retry is set after an answer 4xx, and after an error without an answer, unless
// the server's certificate is invalid.
func sendError(step Failure, err error) *SendError {
	var refused *textproto.Error
	if errors.As(err, &refused) {
		return &SendError{Failure: step, Answer: cleanAnswer(strconv.Itoa(refused.Code) + " " + refused.Msg), Retry: refused.Code < 500}
	}
	var certificate *tls.CertificateVerificationError
	return &SendError{Failure: step, Answer: cleanAnswer(err.Error()), Retry: !errors.As(err, &certificate)}
}

// addresses matches mail addresses, also with a quoted local part or an address literal (RFC 5321, 4.1.2), and with an escaped or
// full-width @. It also matches encoded words (RFC 2047), which may contain an address. An escaped @ counts only before a domain: size=4096
// is no address.
var addresses = regexp.MustCompile(`=\?[^?\s]+\?[bBqQ]\?[^?\s]*\?=` +
	`|(?:"(?:[^"\\]|\\.)*"|[^\s<>()\[\]:;,"']+)(?:(?:@|＠|﹫)(?:\[[^\]\s]*\]|[^\s<>()\[\]:;,"']+)|(?:=40|%40)[^\s<>()\[\]:;,"']+\.[A-Za-z][^\s<>()\[\]:;,"']*)`)

// maxAnswer is the length, in characters, to which the text of a mail server's answer is cut.
const maxAnswer = 300

// cleanAnswer shortens an answer to maxAnswer characters and removes mail addresses from it.
func cleanAnswer(s string) string {
	return text.TruncateRunes(addresses.ReplaceAllString(oneLine(strings.ToValidUTF8(s, "?")), "…"), maxAnswer)
}

// Connection is an open connection to a mail server.
type Connection struct {
	client *smtp.Client
	conn   net.Conn
	from   string
}

// Connect connects to the mail server within 30 s, encrypts as set, and signs in if a user is set. The error names the step that failed.
// The caller closes the connection.
func (s Server) Connect(ctx context.Context) (*Connection, *SendError) {
	c := &Connection{from: s.FromAddress}
	auth := &autoAuth{user: s.User, password: s.Password}
	var dialErr *SendError
	options := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(greetTimeout), gomail.WithHELO(s.domain()), gomail.WithTLSConfig(s.tlsConfig()), gomail.WithoutSMTPUTF8(),
		gomail.WithTLSPolicy(gomail.NoTLS), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := s.Dial(ctx, network, address)
			if err != nil {
				dialErr = sendError(FailedConnection, err)
				return nil, err
			}
			c.conn = conn
			if s.Security != TLS {
				return conn, nil
			}
			encrypted := tls.Client(conn, s.tlsConfig())
			if err := encrypted.HandshakeContext(ctx); err != nil {
				dialErr = sendError(FailedTLS, err)
				return nil, errors.Join(err, conn.Close())
			}
			return encrypted, nil
		}),
	}
	if s.Security == StartTLS {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.User != "" {
		options = append(options, gomail.WithSMTPAuthCustom(auth))
	}
	client, err := gomail.NewClient(s.Host, options...)
	if err != nil {
		return nil, &SendError{Failure: FailedConnection, Answer: cleanAnswer(err.Error())}
	}
	if c.client, err = client.DialToSMTPClientWithContext(ctx); err == nil {
		return c, nil
	}
	if c.conn != nil {
		_ = c.conn.Close() // the connection has failed already
	}
	var answered *textproto.Error
	switch {
	case dialErr != nil:
		return nil, dialErr
	case auth.started:
		return nil, sendError(FailedAuthentication, err)
	case s.Security == StartTLS && !errors.As(err, &answered):
		return nil, sendError(FailedTLS, err)
	}
	return nil, sendError(FailedConnection, err)
}

// tlsConfig returns the settings of an encrypted connection. It verifies the certificate for the server's name.
func (s Server) tlsConfig() *tls.Config {
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	config.ServerName, config.MinVersion = s.Host, tls.VersionTLS12
	return config
}

// domain returns the domain of the sender, which names this client and is part of each Message-ID.
func (s Server) domain() string {
	if _, domain, ok := strings.Cut(s.FromAddress, "@"); ok {
		return domain
	}
	return "localhost"
}

// Envelope sends the sender and the recipient (MAIL FROM and RCPT TO) and returns why that failed, or nil. It begins the time limit
// transmitTimeout, which includes the call of Transmit that follows.
func (c *Connection) Envelope(to string) *SendError {
	if err := c.conn.SetDeadline(time.Now().Add(transmitTimeout)); err != nil {
		return sendError(FailedConnection, err)
	}
	if err := c.client.Mail("<" + c.from + ">"); err != nil {
		return sendError(FailedSender, err)
	}
	if err := c.client.Rcpt("<" + to + ">"); err != nil {
		return sendError(recipientFailure(err), err)
	}
	return nil
}

// enhancedCode matches the enhanced status of a final answer (RFC 3463). The status 5.0.0 says no more than the answer's own code.
var enhancedCode = regexp.MustCompile(`^5\.\d{1,3}\.\d{1,3}\b`)

// recipientFailure returns what an answer to the recipient means. A temporary answer and a lost connection are FailedRecipient too:
// sendError allows a retry. A final answer about something other than the address, such as "relaying denied", is caused by the property's
// settings. It must not count as a bounce of the guest's address.
func recipientFailure(err error) Failure {
	var refused *textproto.Error
	if !errors.As(err, &refused) || refused.Code < 500 {
		return FailedRecipient
	}
	switch code := enhancedCode.FindString(refused.Msg); {
	case badAddress.MatchString(code):
		return FailedRecipient
	case code != "" && code != "5.0.0":
		return FailedRefused
	case refused.Code == 550, refused.Code == 551, refused.Code == 553:
		return FailedRecipient
	}
	return FailedRefused
}

// Transmit sends the text, after Envelope, and returns nil once the server has taken the mail. If the connection ends after the whole text
// and before the answer, the server may have taken the mail: the failure is FailedUnanswered, and there must be no further attempt. After
// any other failure the server has not taken it.
func (c *Connection) Transmit(raw []byte) *SendError {
	w, err := c.client.Data()
	if err != nil {
		return sendError(FailedRefused, err)
	}
	if _, err := w.Write(raw); err != nil {
		return sendError(FailedConnection, err) // the end of the text was not sent, so the server takes nothing
	}
	err = w.Close()
	var answered *textproto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return sendError(FailedRefused, err)
	}
	return &SendError{Failure: FailedUnanswered, Answer: cleanAnswer(err.Error())}
}

// Close ends the connection and waits at most 5 s for the server. It ignores errors: a mail that the server has taken stays taken.
func (c *Connection) Close() {
	_ = c.conn.SetDeadline(time.Now().Add(5 * time.Second))
	_ = c.client.Quit()
	_ = c.conn.Close()
}

// Raw returns the bytes of a mail, or an error without Retry if an address is not valid. The same mail has the same Message-ID and date at
// each attempt.
func (s Server) Raw(mailID string, ordered time.Time, t Text) ([]byte, *SendError) {
	m := gomail.NewMsg()
	if err := m.FromFormat(oneLine(s.FromName), s.FromAddress); err != nil {
		return nil, &SendError{Failure: FailedSender, Answer: "the sender's address is not valid"}
	}
	if err := m.To(t.To); err != nil {
		return nil, &SendError{Failure: FailedRecipient, Answer: "the recipient's address is not valid"}
	}
	if s.ReplyTo != "" {
		if err := m.ReplyTo(s.ReplyTo); err != nil {
			return nil, &SendError{Failure: FailedSender, Answer: "the address for answers is not valid"}
		}
	}
	m.Subject(t.Subject)
	m.SetMessageIDWithValue(mailID + "@" + s.domain())
	m.SetDateWithValue(ordered)
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(gomail.TypeTextPlain, t.Text)
	m.AddAlternativeString(gomail.TypeTextHTML, t.HTML)
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		return nil, &SendError{Failure: FailedRefused, Answer: cleanAnswer(err.Error())}
	}
	return b.Bytes(), nil
}

// autoAuth authenticates with the best mechanism that the server offers. started means that the authentication has begun.
type autoAuth struct {
	user, password string
	started        bool
	smtp.Auth
}

// Start implements smtp.Auth: it starts the best mechanism that the server offers, SCRAM before PLAIN and LOGIN. It fails if the server
// offers none of these.
func (a *autoAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	a.started = true
	// A server without encryption is on this machine: see SettingsChange.
	mechanisms := map[string]smtp.Auth{
		"SCRAM-SHA-256": smtp.ScramSHA256Auth(a.user, a.password), "SCRAM-SHA-1": smtp.ScramSHA1Auth(a.user, a.password),
		"PLAIN": smtp.PlainAuth("", a.user, a.password, server.Name, !server.TLS), "LOGIN": smtp.LoginAuth(a.user, a.password, server.Name, !server.TLS),
	}
	for _, name := range []string{"SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN", "LOGIN"} {
		for _, offered := range server.Auth {
			if strings.EqualFold(offered, name) {
				a.Auth = mechanisms[name]
				return a.Auth.Start(server)
			}
		}
	}
	return "", nil, fmt.Errorf("the mail server offers none of SCRAM-SHA-256, SCRAM-SHA-1, PLAIN and LOGIN")
}

// RetryAfter returns the wait after a number of failed attempts: half a minute after the first, doubled by each further one, at most an
// hour.
func RetryAfter(attempts int) time.Duration {
	return min(30*time.Second<<min(max(attempts-1, 0), 10), time.Hour)
}

// GiveUpAfter is how long sending a mail is tried.
const GiveUpAfter = 24 * time.Hour
