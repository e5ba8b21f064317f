package chain

import (
	"context"
	"strings"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/staff/credential"
)

// admission is what every call, unary or stream, must pass before its handler sees it.
var admission = []func(*Chain, context.Context, *Call) (context.Context, error){
	(*Chain).address,
	(*Chain).route,
	(*Chain).authenticate,
	(*Chain).limit,
	(*Chain).authorize,
	(*Chain).key,
}

func (c *Chain) admit(ctx context.Context, call *Call) (context.Context, error) {
	var err error
	for _, step := range admission {
		if ctx, err = step(c, ctx, call); err != nil {
			return ctx, err
		}
	}
	return ctx, nil
}

// route refuses methods that nobody offers. Whoever asks for them is counted by address: nobody asked for a credential yet.
func (c *Chain) route(ctx context.Context, call *Call) (context.Context, error) {
	if call.method != nobody {
		return ctx, nil
	}
	if _, err := c.limit(ctx, call); err != nil {
		return ctx, err
	}
	return ctx, fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no method %s", call.Method)
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

func (c *Chain) address(ctx context.Context, call *Call) (context.Context, error) {
	call.Client = clientAddr(ctx, call.md[HeaderForwardedFor], c.proxies)
	return ctx, nil
}

func (c *Chain) authenticate(ctx context.Context, call *Call) (context.Context, error) {
	if call.method.public || call.method.access.GetAnonymous() {
		return ctx, nil
	}
	a, err := c.auth[call.method.area](ctx, call.credentials(ctx))
	if err == nil && a.Kind == "" {
		err = credential.Refused()
	}
	if f, ok := fault.Of(err); ok && f.Kind == fault.Unauthenticated {
		if _, spent := c.limit(ctx, call); spent != nil {
			return ctx, spent
		}
	}
	if err != nil {
		return ctx, err
	}
	call.who = a
	return actor.With(ctx, a), nil
}

// limit counts the calls of integrations; those that need no credential by address; and by address, but apart, what is
// refused, which may be guesses: a script with a dead token must not use up what the guests have who share its address.
func (c *Chain) limit(ctx context.Context, call *Call) (context.Context, error) {
	if call.method.public {
		return ctx, nil
	}
	var subject string
	switch a, ok := actor.From(ctx); {
	case ok && a.Kind == actor.Integration:
		subject = a.Subject()
	case !ok && call.Client.IsValid() && call.method.access.GetAnonymous():
		subject = "address:" + network(call.Client)
	case !ok && call.Client.IsValid():
		subject = "refused:" + network(call.Client)
	default:
		return ctx, nil
	}
	l := c.calls
	if call.method.access.GetBatch() {
		l = c.batches
	}
	return ctx, l.take(c.clock.Now(), subject, call.header)
}

func (c *Chain) authorize(ctx context.Context, call *Call) (context.Context, error) {
	a, ok := actor.From(ctx)
	rule := call.method.access
	if !ok || rule == nil {
		return ctx, nil
	}
	if rule.GetScope() != "" && a.Kind == actor.Integration && !a.Has(rule.GetScope()) {
		return ctx, fault.New(fault.Denied, fault.ScopeMissing, "the scope %s is needed for this call: ask the property to grant it to this integration", rule.GetScope()).
			Put("scope", rule.GetScope())
	}
	if rule.GetRole() != "" && a.Kind == actor.Staff && !staff.Suffices(a.Role, rule.GetRole()) {
		return ctx, fault.New(fault.Denied, fault.RoleMissing, "the role %s is needed for this call", rule.GetRole()).
			Put("role", rule.GetRole())
	}
	return ctx, nil
}
