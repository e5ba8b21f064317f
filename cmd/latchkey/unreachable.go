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

// protection is how a command and a server protect their connection.
type protection string

// The ways in which the two can disagree.
const (
	serverWantsTLS  protection = "the server speaks TLS"
	serverHasNoTLS  protection = "the server speaks without TLS"
	untrusted       protection = "the certificate is not trusted"
	otherName       protection = "the certificate has other names"
	outOfDate       protection = "the certificate is out of date"
	otherwiseFailed protection = ""
)

// disagreement reads from the text of a failed connection what was wrong with its protection.
func disagreement(text string, serverSpeaksTLS func() bool) protection {
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
	return otherwiseFailed
}

// reached explains an error that comes from the connection to a server elsewhere.
func (r *remote) reached(ctx context.Context, err error) error {
	st := statusOf(err)
	if r.Server == "" || st == nil || st.Code() != codes.Unavailable || !strings.Contains(st.Message(), "connection error") {
		return err
	}
	at, text := r.Server, ""
	switch disagreement(st.Message(), func() bool { return speaksTLS(ctx, r.Server) }) {
	case serverWantsTLS:
		text = "the server at " + at + " speaks TLS, and this command did not.\nFor a certificate of your own CA: --ca FILE. For a public one: name the server as the certificate does."
	case serverHasNoTLS:
		text = "the server at " + at + " speaks without TLS.\nIf the network between is trusted, such as a tunnel: --plaintext. Else give the server a certificate (latchkey serve --tls-cert)."
	case untrusted:
		text = "the server at " + at + " speaks TLS with a certificate that this machine does not trust.\nName the CA that signed it: --ca FILE"
	case otherName:
		text = "the certificate of the server at " + at + " is for other names (" + certificateError(st.Message()) + ").\nName the server as its certificate does."
	case outOfDate:
		text = "the certificate of the server at " + at + " is out of date (" + certificateError(st.Message()) + ").\nRenew it, and check the clock of this machine."
	default:
		return err
	}
	return fault.New(fault.Unavailable, fault.UnavailableReason, "%s", text)
}

// certificateError is what the check of a certificate said, without what is around it.
func certificateError(text string) string {
	_, said, _ := strings.Cut(text, "x509: ")
	return strings.Trim(said, `"`)
}

// speaksTLS asks whether a server answers a TLS handshake. It trusts the server with nothing and sends nothing.
func speaksTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}) //nolint:gosec // nothing is sent
	defer conn.Close()
	return conn.HandshakeContext(ctx) == nil
}
