package chain

import (
	"context"
	"strings"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/staff/credential"
)

// admission is what every call, unary or stream, must pass before its message is read.
var admission = []func(*Chain, context.Context, *Call) error{
	(*Chain).address,
	(*Chain).route,
	(*Chain).authenticate,
	(*Chain).limit,
	(*Chain).authorize,
	(*Chain).takeKey,
}

// Admit judges a call by its headers alone, before a byte of its message is read: the context holds its metadata, its peer
// and its protocol. Pass the context that it returns to Unary or Stream. They take the verdict from there, so that nothing is
// authenticated or counted twice, and a refused call is answered, logged and counted as any other. End the call when it is
// over.
func (c *Chain) Admit(ctx context.Context, fullMethod string) (context.Context, *Call) {
	call := c.newCall(ctx, fullMethod)
	ctx = context.WithValue(ctx, callKey{}, call)
	limited, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	c.judge(limited, call)
	if call.wrong == nil {
		call.slot, call.wrong = c.awaited.take(call)
	}
	call.spent = time.Since(call.started)
	return ctx, call
}

// judge runs the admission once.
func (c *Chain) judge(ctx context.Context, call *Call) {
	defer func() {
		if p := recover(); p != nil {
			call.wrong = c.panicked(ctx, call, p)
		}
	}()
	call.judged = true
	for _, step := range admission {
		if call.wrong = step(c, ctx, call); call.wrong != nil {
			return
		}
	}
}

// Refused reports whether the call was refused, so that its message is not worth reading.
func (call *Call) Refused() bool { return call.wrong != nil }

// Fail refuses an admitted call whose message cannot be read.
func (call *Call) Fail(err error) {
	if call.wrong == nil {
		call.wrong = err
	}
}

// End gives back what the call holds. It may be called more than once.
func (call *Call) End() {
	call.arrived()
	call.decoded()
}

// arrived gives back the place of a call whose message was awaited.
func (call *Call) arrived() {
	if call.slot != nil {
		call.slot()
		call.slot = nil
	}
}

// inside returns the context that the handler of an admitted call gets.
func (call *Call) inside(ctx context.Context) context.Context {
	if call.who.Kind != "" {
		ctx = actor.With(ctx, call.who)
	}
	if call.key != "" {
		ctx = WithIdempotencyKey(ctx, call.key)
	}
	return ctx
}

// route refuses methods that nobody offers. Their callers are counted by address: no credential is asked for yet.
func (c *Chain) route(ctx context.Context, call *Call) error {
	if call.method != nobody {
		return nil
	}
	if err := c.limit(ctx, call); err != nil {
		return err
	}
	return fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no method %s", call.Method)
}

// maxMethod is how many bytes are kept of the name of a method that nobody offers: it is logged and said back.
const maxMethod = 200

// shown is a name of a caller's own making as it may be written down.
func shown(method string) string {
	if len(method) <= maxMethod {
		return strings.ToValidUTF8(method, "\uFFFD")
	}
	return strings.ToValidUTF8(method[:maxMethod], "\uFFFD") + "…"
}

func (c *Chain) address(ctx context.Context, call *Call) error {
	call.Client = clientAddr(ctx, call.md[HeaderForwardedFor], c.proxies)
	return nil
}

func (c *Chain) authenticate(ctx context.Context, call *Call) error {
	if call.method.public || call.method.access.GetAnonymous() {
		return nil
	}
	a, err := c.auth[call.method.area](ctx, call.credentials(ctx))
	if err == nil && a.Kind == "" {
		err = credential.Refused()
	}
	if f, ok := fault.Of(err); ok && f.Kind == fault.Unauthenticated {
		if spent := c.limit(ctx, call); spent != nil {
			return spent
		}
		return refusal(f, call.method.area, call.credentials(ctx))
	}
	if err != nil {
		return err
	}
	call.who = a
	return nil
}

// limit counts calls: those of an integration by integration; those of staff, their scripts and operators by token, with a
// wider budget; those that need no credential by address; and by address, but apart, refused ones, which may be guesses: a
// script with a dead token must not use up the budget of the guests who share its address.
func (c *Chain) limit(_ context.Context, call *Call) error {
	if call.method.public {
		return nil
	}
	l := c.calls
	if call.method.access.GetBatch() {
		l = c.batches
	}
	var subject string
	switch known := call.who.Kind != ""; {
	case call.who.Kind == actor.Integration:
		subject = call.who.Subject()
	case known && call.who.TokenID != "":
		l, subject = c.tokens, call.who.TokenID
	case !known && call.Client.IsValid() && call.method.access.GetAnonymous():
		subject = "address:" + network(call.Client)
	case !known && call.Client.IsValid():
		subject = "refused:" + network(call.Client)
	default:
		return nil
	}
	return l.take(c.clock.Now(), subject, call.header)
}

func (c *Chain) authorize(_ context.Context, call *Call) error {
	a, rule := call.who, call.method.access
	if a.Kind == "" || rule == nil {
		return nil
	}
	if rule.GetScope() != "" && a.Kind == actor.Integration && !a.Has(rule.GetScope()) {
		return fault.New(fault.Denied, fault.ScopeMissing, "the scope %s is needed for this call: ask the property to grant it to this integration", rule.GetScope()).
			Put("scope", rule.GetScope())
	}
	if rule.GetRole() != "" && a.Kind == actor.Staff && !staff.Suffices(a.Role, rule.GetRole()) {
		return fault.New(fault.Denied, fault.RoleMissing, "the role %s is needed for this call", rule.GetRole()).
			Put("role", rule.GetRole())
	}
	return nil
}
