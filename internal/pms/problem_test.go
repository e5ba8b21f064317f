package pms

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// What an HTTP client reports has a kind, and a text in every language.
func TestProblemsHaveKinds(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	certificate := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	for name, c := range map[string]struct {
		err  error
		kind string
		want string // in German
	}{
		"an unknown name":        {errors.Join(errLookup, &net.DNSError{Err: "no such host", IsNotFound: true}), "lookup", "der Name des Servers ist nicht bekannt"},
		"a refused connection":   {dial(errors.New("connection refused")), "connect", "die Verbindung wurde abgelehnt, oder es führt kein Weg zum Server"},
		"a refused address":      {errAddress, "address", ""},
		"an expired certificate": {certificate(x509.CertificateInvalidError{Reason: x509.Expired}), "certificateExpired", "das Zertifikat ist abgelaufen oder noch nicht gültig"},
		"another name":           {certificate(x509.HostnameError{Certificate: &x509.Certificate{}}), "certificateName", ""},
		"an unknown authority":   {certificate(x509.UnknownAuthorityError{}), "certificateIssuer", ""},
		"another certificate":    {certificate(errors.New("x")), "certificate", ""},
		"a failed handshake":     {errors.Join(errHandshake, errors.New("x")), "handshake", ""},
		"a slow dial":            {dial(context.DeadlineExceeded), "connectTime", ""},
		"a slow lookup":          {errors.Join(errLookup, context.DeadlineExceeded), "lookupTime", ""},
		"a slow handshake":       {errors.Join(errHandshakeTime, context.DeadlineExceeded), "handshakeTime", ""},
		"a slow answer":          {context.DeadlineExceeded, "totalTime", ""},
		"no HTTP":                {errors.New("malformed HTTP response"), "notHttp", ""},
		"an interruption":        {errors.New("EOF"), "interrupted", ""},
		"large headers":          {errors.New("net/http: server response headers exceeded 1 bytes"), "headersTooLarge", ""},
		"a status":               {&CallError{Cause: CauseStatus, Status: 503}, "status", "die Antwort war ein Fehler (HTTP 503)"},
		"a redirect":             {&CallError{Cause: CauseStatus, Status: 302, problem: problemRedirect}, "redirect", ""},
		"an error in the answer": {&CallError{Cause: CauseError, Status: 200}, "error", ""},
		"no call":                {&CallError{Cause: CauseSetting}, "setting", ""},
		"a busy partner":         {&CallError{Cause: CauseBusy}, "busy", ""},
		"an open breaker":        {&CallError{Cause: CauseOpen}, "open", ""},
		"a canceled call":        {&CallError{Cause: CauseCanceled}, "canceled", ""},
		"a long answer":          {&CallError{Cause: CauseTooLarge, problem: problemBody}, "bodyTooLarge", ""},
		"one violation": {&CallError{Cause: CauseContract, Violations: []fault.Field{{Path: "owing", Reason: fault.WrongType, Message: mustBeNumber}}},
			"contract", "die Antwort verletzt die Vereinbarung: owing muss eine Zahl sein"},
		"five violations": {&CallError{Cause: CauseContract, Violations: []fault.Field{
			{Reason: fault.WrongType, Message: mustBeObject}, {Path: "a", Reason: fault.Required}, {Path: "b", Reason: fault.WrongValue}, {Path: "c", Reason: fault.TooLong}, {Path: "d"},
		}}, "contract", "die Antwort verletzt die Vereinbarung: die Antwort muss ein Objekt sein; a fehlt; b hat einen Wert, der nicht erlaubt ist; und 2 weitere"},
	} {
		e, ok := errors.AsType[*CallError](c.err)
		if !ok {
			e = classifyError(GetSpaces, t.Context(), t.Context(), c.err)
		}
		m := e.Problem()
		if m.Kind != "endpoint."+c.kind {
			t.Errorf("%s is %s, want %s", name, m.Kind, c.kind)
		}
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := (message.Reader{Language: "de"}).Text(m); c.want != "" && got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, cause := range []Cause{CauseAddress, CauseNetwork, CauseTLS, CauseTimeout, CauseTooLarge} {
		if err := (&CallError{Cause: cause}).Problem().Check(); err != nil {
			t.Errorf("%s without details: %v", cause, err)
		}
	}
}

// Each violation that the decoder finds has a text.
func TestViolationsHaveTexts(t *testing.T) {
	for _, body := range []string{
		"{", "\xff", "[1]", "{}", `{"data":1}`, `[{"id":1,"type":"Hut","name":"x"}]`, `[{"id":"","type":"Room","name":"\u0000","isPrivate":1}]`, `[{"id":"1","id":"2"}]`,
	} {
		_, violations := DecodeSpaces([]byte(body))
		for _, v := range violations {
			if err := ViolationText(v).Check(); err != nil {
				t.Errorf("%s: %+v: %v", body, v, err)
			}
		}
		if len(violations) == 0 {
			t.Errorf("%s: no violation", body)
		}
	}
	for _, body := range []string{"[]", "{}", `{"owing":"1"}`, `{"owing":1}`, `{"owing":1,"owingCurrency":"eur"}`, `{"owing":1e99,"owingCurrency":"EUR"}`} {
		_, violations := DecodeStatus([]byte(body))
		for _, v := range violations {
			if err := ViolationText(v).Check(); err != nil {
				t.Errorf("%s: %+v: %v", body, v, err)
			}
		}
	}
}
