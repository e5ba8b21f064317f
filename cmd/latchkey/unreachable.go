package main

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"latchkey.dev/internal/fault"
)

// tlsProblem is why a command and a server cannot agree on TLS. The empty value means that the connection failed for another reason.
type tlsProblem string

const (
	serverWantsTLS tlsProblem = "the server uses TLS"
	serverHasNoTLS tlsProblem = "the server does not use TLS"
	untrusted      tlsProblem = "the certificate is not trusted"
	otherName      tlsProblem = "the certificate is for other names"
	outOfDate      tlsProblem = "the certificate has expired or is not valid yet"
	notTLS         tlsProblem = ""
)

// tlsProblemOf derives from the text of a connection error why TLS failed. If the text leaves open whether the server uses TLS, it calls
// serverSpeaksTLS, which asks the server. It returns notTLS if the connection failed for another reason.
func tlsProblemOf(text string, serverSpeaksTLS func() bool) tlsProblem {
	switch {
	case strings.Contains(text, "certificate signed by unknown authority"), strings.Contains(text, "certificate is not trusted"):
		return untrusted
	case strings.Contains(text, "certificate is valid for"), strings.Contains(text, "doesn't contain any IP SANs"), strings.Contains(text, "not valid for any names"):
		return otherName
	case strings.Contains(text, "certificate has expired or is not yet valid"):
		return outOfDate
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return serverHasNoTLS
	case (strings.Contains(text, "error reading server preface") || strings.Contains(text, "connection reset")) && serverSpeaksTLS():
		return serverWantsTLS
	}
	return notTLS
}

// explainTLSFailure returns err, the error of a session or nil. If the server of --server was not reached because of TLS, it returns an
// error that says what to do instead; to find out, it may connect to the server once more.
func (r *remote) explainTLSFailure(ctx context.Context, err error) error {
	st := statusOf(err)
	if r.Server == "" || st == nil || st.Code() != codes.Unavailable || !strings.Contains(st.Message(), "connection error") {
		return err
	}
	at, text := r.Server, ""
	switch tlsProblemOf(st.Message(), func() bool { return speaksTLS(ctx, r.Server) }) {
	case serverWantsTLS:
		text = "the server at " + at + " uses TLS, and this command did not.\nIf your own CA signed its certificate: --ca FILE. If a public CA did: use the name in the certificate."
	case serverHasNoTLS:
		text = "the server at " + at + " does not use TLS.\nIf you trust the network, for example a tunnel: --plaintext. Otherwise give the server a certificate (latchkey serve --tls-cert)."
	case untrusted:
		text = "the server at " + at + " has a certificate that this machine does not trust.\nName the CA that signed it: --ca FILE"
	case otherName:
		text = "the certificate of the server at " + at + " is for other names (" + certificateError(st.Message()) + ").\nUse a name in the certificate."
	case outOfDate:
		text = "the certificate of the server at " + at + " has expired or is not valid yet (" + certificateError(st.Message()) + ").\nRenew it, and check the clock of this machine."
	default:
		return err
	}
	return fault.New(fault.Unavailable, fault.UnavailableReason, "%s", text)
}

// certificateError extracts the error of the certificate check from the text of a connection error, or returns "".
func certificateError(text string) string {
	_, said, _ := strings.Cut(text, "x509: ")
	return strings.Trim(said, `"`)
}

// speaksTLS reports whether the server at an address answers a TLS handshake within 2 seconds. It sends no other data.
func speaksTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) // the certificate does not matter, because no data is sent
	defer conn.Close()
	return conn.HandshakeContext(ctx) == nil
}
