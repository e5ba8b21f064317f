package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/certfile"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/fault"
)

// sessionTimeout is how long a command may take with all its calls to the server. A command that watches, or works part by part, uses its
// own context instead of the session's.
const sessionTimeout = 30 * time.Second

// remote has the flags that choose the server and the credential of a command.
type remote struct {
	DataDir   string `group:"connection" default:"${data_dir}" type:"path" env:"LATCHKEY_DATA_DIR" help:"Data directory of the server on this machine; commands use the Unix socket in it."`
	Server    string `group:"connection" placeholder:"HOST:PORT" env:"LATCHKEY_SERVER" help:"gRPC address of a server on another machine, instead of the socket. Needs --token."`
	Token     string `group:"connection" placeholder:"TOKEN" env:"LATCHKEY_TOKEN" help:"An operator's token (lko_...) or a property's staff token (lkp_...). Better set it in the environment."`
	Property  string `group:"connection" short:"p" placeholder:"NAME" env:"LATCHKEY_PROPERTY" help:"The property, by name or id, if there are several."`
	CA        string `group:"connection" name:"ca" type:"existingfile" placeholder:"FILE" env:"LATCHKEY_CA" help:"Certificates to trust for --server (PEM), instead of the system's. With this flag, loopback addresses use TLS, too."`
	Plaintext bool   `group:"connection" help:"Connect to --server without TLS. Loopback addresses do not need this flag."`
	AnswersIn string `group:"connection" placeholder:"LANGUAGE" env:"LATCHKEY_ANSWERS_IN" help:"Language of notices, explanations and other texts of the server, such as de. Default: English."`
	JSON      bool   `group:"connection" name:"json" help:"Print the server's answer as JSON."`

	// typed has the flags for server and property that the user typed, to append to suggested commands: each begins with a space, and the
	// token is replaced by the word TOKEN.
	typed string
}

// AfterApply is called by kong after parsing. It remembers the connection flags that the user typed, without values from the environment,
// and passes r to the Run method of the command.
func (r *remote) AfterApply(c *kong.Context) error {
	r.typed = ""
	for _, p := range c.Path {
		if p.Flag != nil && !p.Resolved {
			r.typed += r.repeated(p.Flag)
		}
	}
	c.Bind(r)
	return nil
}

// repeated returns a flag as the user would type it again in a suggested command, or "" if it is not needed there. It hides the token.
func (r *remote) repeated(f *kong.Flag) string {
	switch f.Name {
	case "data-dir", "server", "property", "ca":
		return typedFlag(f.Name, f.Target.String())
	case "token":
		return " --token TOKEN"
	case "plaintext":
		return " --plaintext"
	}
	return ""
}

// typedFlag formats a flag and its value for a shell, in quotes if necessary, with a space before it. It returns "" if the value is empty.
func typedFlag(name, value string) string {
	if value == "" {
		return ""
	}
	return " --" + name + " " + quoted(value)
}

// quoted formats a word for a shell, in quotes if necessary.
func quoted(word string) string {
	if strings.ContainsAny(word, " '\"$&;()|<>*?`\\") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// command matches latchkey and the next two words in a text, after which flags can follow. It does not match a command of one word.
var command = regexp.MustCompile(`\blatchkey [a-z-]+ [a-z-]+`)

// withTypedFlags adds the connection flags that the user typed to the commands in a text, so that they address the same server and
// property. It leaves commands of one word unchanged, such as latchkey today.
func (r *remote) withTypedFlags(text string) string {
	return command.ReplaceAllStringFunc(text, func(c string) string { return c + r.typed })
}

// session is a command's connection to the server.
type session struct {
	context.Context
	*remote
	*streams
	conn *grpc.ClientConn // connection over the Unix socket or the network
	// staffToken is the token for calls to the property API; empty with socketProperty, and for commands that do not call it.
	staffToken string
	// socketProperty is the id of the property for which an operator's command works over the socket without a token; otherwise empty.
	socketProperty string
	// minted is the staff token that was created for this command only, which close revokes; nil if none was.
	minted *adminv1.Token
	end    context.CancelFunc
}

// with opens a session with the server, calls f and closes the session. The calls of f together may take as long as sessionTimeout. It
// explains errors of TLS.
func (r *remote) with(ctx context.Context, io *streams, f func(s *session) error) error {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	s := &session{Context: ctx, remote: r, streams: io, end: cancel}
	if err := s.dial(); err != nil {
		cancel()
		return err
	}
	defer s.close()
	return r.explainTLSFailure(ctx, f(s))
}

// asOperator runs f in a session for a command that calls the admin API. It refuses the token of a property.
func (r *remote) asOperator(ctx context.Context, io *streams, f func(s *session) error) error {
	return r.with(ctx, io, func(s *session) error {
		if strings.HasPrefix(r.Token, "lkp_") {
			return errors.New("this command is for operators, and the token is a property's (lkp_): use an lko_ token, or run the command on the server's machine without a token")
		}
		return f(s)
	})
}

// asStaff runs f in a session for a command that calls the property API, with a property's staff token if the user gives one. An operator
// acts as an owner of the property: over the socket without a token, so it works even if the disk is full; with an operator's token by a
// staff token, which is revoked when the command ends.
func (r *remote) asStaff(ctx context.Context, io *streams, f func(s *session) error) error {
	return r.with(ctx, io, func(s *session) error {
		if strings.HasPrefix(r.Token, "lkp_") {
			s.staffToken = r.Token
			if err := s.checkProperty(); err != nil {
				return err
			}
			return f(s)
		}
		if err := s.enterProperty(); err != nil {
			return err
		}
		return f(s)
	})
}

// asOperatorOn is asOperator for a command on one object of a kind. Before it calls f, it replaces the object's name in *word by its id. An
// id stays, unchecked. A name of no object or of several is an error.
func (r *remote) asOperatorOn(ctx context.Context, io *streams, k kind, word *string, f func(s *session) error) error {
	return r.asOperator(ctx, io, withResolvedName(k, word, f))
}

// asStaffOn is asStaff for a command on one object of a kind. Before it calls f, it replaces the object's name in *word by its id. An empty
// word and an id stay, unchecked. A name of no object or of several is an error.
func (r *remote) asStaffOn(ctx context.Context, io *streams, k kind, word *string, f func(s *session) error) error {
	return r.asStaff(ctx, io, withResolvedName(k, word, f))
}

// withResolvedName returns a function that replaces the name in *word by the id of that object of the kind k, and then calls f. It fails as
// resolve does, without a call of f.
func withResolvedName(k kind, word *string, f func(s *session) error) func(s *session) error {
	return func(s *session) error {
		if err := s.resolve(k, word); err != nil {
			return err
		}
		return f(s)
	}
}

// target returns the address that the flags choose, the Unix socket or a host, and the transport credentials. There is no TLS on the
// socket, with --plaintext, and for a loopback host without --ca. It fails if the socket is missing, if --server is given without a token,
// or if the flags contradict each other.
func (r *remote) target() (string, credentials.TransportCredentials, error) {
	if r.Server == "" {
		socket := config.Config{DataDir: r.DataDir}.SocketPath()
		if _, err := os.Stat(socket); err != nil {
			return "", nil, noSocket(r.DataDir, err)
		}
		return "unix:" + socket, insecure.NewCredentials(), nil
	}
	if r.Token == "" {
		return "", nil, errors.New("--server needs --token (or LATCHKEY_TOKEN): an operator's lko_ token or a property's lkp_ token.\nCreate one on the server's machine with:  latchkey admin token create NAME")
	}
	host, _, err := net.SplitHostPort(r.Server)
	if err != nil {
		return "", nil, fmt.Errorf("--server %q: must be HOST:PORT, the server's --listen-grpc", r.Server)
	}
	if r.Plaintext && r.CA != "" {
		return "", nil, errors.New("--ca needs TLS and --plaintext disables TLS: leave one of them out")
	}
	if r.Plaintext || r.CA == "" && config.IsLoopback(host) {
		return r.Server, insecure.NewCredentials(), nil
	}
	trust, err := r.trust()
	return r.Server, credentials.NewTLS(trust), err
}

// noSocket returns the error for a data directory whose Unix socket cannot be used because of err, with what to do.
func noSocket(dataDir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the data directory %s belongs to another user (%w).\nRun the command as the user that runs the server:  sudo -u USER latchkey ...\nor name the server with --server and --token", dataDir, err)
	}
	return fault.New(fault.Unavailable, fault.UnavailableReason, "no server runs with the data directory %s (%s).\nStart one with:  latchkey serve --data-dir %s\nor name another with --data-dir, or with --server and --token", dataDir, err, dataDir)
}

// trust returns the TLS configuration for --server. It trusts the certificates in the file of --ca, or those of the system.
func (r *remote) trust() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if r.CA == "" {
		return c, nil
	}
	var err error
	if c.RootCAs, err = certfile.Pool(r.CA); err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	return c, nil
}

// dial prepares the connection to the server. The first RPC opens it, so dial fails only as target does: for wrong flags or files, or
// without a socket.
func (s *session) dial() error {
	target, protection, err := s.target()
	if err != nil {
		return err
	}
	s.conn, err = grpc.NewClient(target, grpc.WithTransportCredentials(protection), grpc.WithUserAgent("latchkey/"+version),
		grpc.WithUnaryInterceptor(s.authorize), grpc.WithStreamInterceptor(s.authorizeStream))
	return err
}

// authorize is the gRPC interceptor that adds the credentials to each call.
func (s *session) authorize(ctx context.Context, method string, req, answer any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return next(s.withToken(ctx, method), method, req, answer, conn, opts...)
}

// authorizeStream is authorize, which adds the token and the property to a call, for streaming calls.
func (s *session) authorizeStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return next(s.withToken(ctx, method), desc, conn, method, opts...)
}

// withToken adds the metadata of a call to its context: the token for the API that method belongs to, the property, and the language of
// answers. Operators on the socket need no token.
func (s *session) withToken(ctx context.Context, method string) context.Context {
	token := s.Token
	if strings.HasPrefix(method, "/latchkey.property.") {
		token = s.staffToken
		if s.socketProperty != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "latchkey-property", s.socketProperty)
		}
	}
	if s.AnswersIn != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "accept-language", s.AnswersIn)
	}
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	return ctx
}

// tokenMinutes is the lifetime of a session's staff token. It ends a token whose revocation failed.
const tokenMinutes = 15

// enterProperty gives an operator's session access to the property API. On the socket without a token it chooses the property; otherwise it
// creates a staff token for this command only, which close revokes.
func (s *session) enterProperty() error {
	property, err := s.resolveProperty()
	if err != nil {
		return err
	}
	if s.Server == "" && s.Token == "" {
		s.socketProperty = property
		return nil
	}
	answer, err := adminv1.NewTokenServiceClient(s.conn).CreateStaffToken(s, &adminv1.CreateStaffTokenRequest{
		PropertyId: property, Name: actor.SessionName, Role: "owner", TtlMinutes: tokenMinutes,
	})
	if err != nil {
		return err
	}
	s.staffToken, s.minted = answer.GetToken(), answer.GetData()
	return nil
}

// resolveProperty returns the id of the property that --property names or, without the flag, of the only property. It fails if there is
// none or more than one. It does not check that an id exists.
func (s *session) resolveProperty() (string, error) {
	if s.Property != "" {
		id := s.Property
		if aProperty.hasID(id) {
			return id, nil
		}
		list, err := aProperty.list(s)
		if err != nil {
			return "", err
		}
		return aProperty.choose(id, list)
	}
	answer, err := adminv1.NewPropertyServiceClient(s.conn).ListProperties(s, &adminv1.ListPropertiesRequest{PageSize: 20})
	if err != nil {
		return "", err
	}
	switch list := answer.GetData().GetList(); len(list) {
	case 0:
		return "", errors.New(s.withTypedFlags("there is no property yet; create one with:\n  latchkey property create \"Hostel Miramar\" --time-zone Europe/Lisbon"))
	case 1:
		return list[0].GetId(), nil
	default:
		text := "which property? Name it with --property NAME-OR-ID (or LATCHKEY_PROPERTY):"
		for _, p := range list {
			text += "\n  " + p.GetId() + "  " + p.GetName()
		}
		if answer.GetData().GetNextPageToken() != "" {
			text += s.withTypedFlags("\n  and more: latchkey property list")
		}
		return "", errors.New(text)
	}
}

// nameProperty chooses the property that an argument names, as --property does, instead of the one from the environment. It fails if the
// user also typed --property with another word. It ignores an empty word.
func (r *remote) nameProperty(word string) error {
	if word == "" {
		return nil
	}
	if strings.Contains(r.typed, " --property ") && r.Property != word {
		return usageError{fmt.Errorf("the command names two properties: %s, and %s with --property", word, r.Property)}
	}
	r.Property = word
	return nil
}

// checkProperty returns an error if --property names another property than that of the staff token.
func (s *session) checkProperty() error {
	if s.Property == "" {
		return nil
	}
	answer, err := propertyv1.NewPropertyServiceClient(s.conn).GetProperty(s, &propertyv1.GetPropertyRequest{})
	if err != nil {
		return err
	}
	if own := answer.GetData(); own.GetId() != s.Property && len(aProperty.match(s.Property, []candidate{{id: own.GetId(), names: []string{own.GetName()}}})) == 0 {
		return fmt.Errorf("--property (or LATCHKEY_PROPERTY) is %s, but the token is for %s, %s: leave the flag out, or use a token for %s", s.Property, own.GetId(), own.GetName(), s.Property)
	}
	return nil
}

// close revokes the staff token if one was created for this command, and closes the connection. It ignores errors.
func (s *session) close() {
	defer s.end()
	if s.minted != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context), 2*time.Second)
		defer cancel()
		// If revoking the token fails, it expires soon.
		_, _ = adminv1.NewTokenServiceClient(s.conn).RevokeStaffToken(ctx, &adminv1.RevokeStaffTokenRequest{
			PropertyId: s.minted.GetPropertyId(), Id: s.minted.GetId(),
		})
	}
	_ = s.conn.Close()
}

// listPage is one page of a list of the API.
type listPage[T any] interface {
	GetList() []T
	GetNextPageToken() string
}

// allPages loads all pages of a list and returns their entries. load requests the page with a token, "" for the first.
func allPages[T any, P listPage[T]](load func(token string) (P, error)) ([]T, error) {
	var all []T
	for token := ""; ; {
		page, err := load(token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetList()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}
