package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"latchkey.dev/internal/config"
)

// operations returns the handler of the operations listener: metrics, health and, if enabled, profiles. All but /livez need the operations
// token; if none is set, all answer only calls to a loopback host.
func (s *Server) operations() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{Registry: s.metrics}))
	s.addHealth(mux)
	if s.cfg.Profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return s.opsToken.guard(mux)
}

// operatorFront returns the handler of the operators' socket: the public routes, and the health routes for the command latchkey health,
// without a token.
func (s *Server) operatorFront(front http.Handler) http.Handler {
	mux := http.NewServeMux()
	s.addHealth(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		front.ServeHTTP(w, r)
	})
}

// addHealth adds the routes /livez and /readyz.
func (s *Server) addHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("alive\n")) })
	mux.HandleFunc("GET /readyz", s.serveReady)
}

// opsToken is the SHA-256 hash of the token that the operations listener requires; nil: it requires none.
type opsToken []byte

// leastOpsToken is the minimum length of the token, in bytes. 20 random characters have about 100 bits, which cannot be guessed.
const leastOpsToken = 20

// readOpsToken reads the token from the configured file, without white space around it, and returns its hash, or nil if no file is
// configured. A short token is an error.
func readOpsToken(cfg config.Config) (opsToken, error) {
	if cfg.OpsTokenFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(cfg.OpsTokenFile)
	if err != nil {
		return nil, fmt.Errorf("--ops-token-file: %w", err)
	}
	token := bytes.TrimSpace(text)
	if len(token) < leastOpsToken {
		return nil, fmt.Errorf("--ops-token-file %s: the token has %d characters; use %d or more, such as those of: openssl rand -hex 32", cfg.OpsTokenFile, len(token), leastOpsToken)
	}
	sum := sha256.Sum256(token)
	return sum[:], nil
}

// guard wraps next, so that only requests with the token reach it, and those for /livez, which says nothing and is asked by liveness probes
// that have no token. Others are answered 401. If the listener has no token, it is on loopback, and guard requires a loopback host in the
// Host header, else it answers 421. Otherwise a web page could reach the listener through a name that resolves to 127.0.0.1.
func (t opsToken) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case t != nil && r.URL.Path != "/livez" && !t.shownBy(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "show the token of --ops-token-file as a bearer token", http.StatusUnauthorized)
		case t == nil && !config.IsLoopback(hostOf(r.Host)):
			http.Error(w, "this listener is for this machine: ask for it as localhost or 127.0.0.1", http.StatusMisdirectedRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// shownBy reports whether a request has the token as its bearer token.
func (t opsToken) shownBy(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], t) == 1
}

// hostOf returns the host of an address or Host header, without the port and without brackets.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.Trim(header, "[]")
}
