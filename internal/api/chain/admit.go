package chain

import (
	"context"
	"strings"
	"time"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/text"
)

// admissionSteps are the checks that every call, unary or stream, passes before the server reads its message.
var admissionSteps = []func(*Chain, context.Context, *Call) error{
	(*Chain).setClientAddress,
	(*Chain).requireKnownMethod,
	(*Chain).authenticate,
	(*Chain).limit,
	(*Chain).authorize,
	(*Chain).readIdempotencyKey,
}

// Admit authenticates a call and checks its limits from the headers alone, before the server reads the message. The context must hold the
// metadata and the peer of the call. [Call.Refused] reports the result. Unary or Stream, called with the returned context, do not
// authenticate or count the call again, and they answer, log and count a refused call. The caller must call [Call.End] when the call is
// over.
func (c *Chain) Admit(ctx context.Context, fullMethod string, p Protocol) (context.Context, *Call) {
	call := c.newCall(ctx, fullMethod)
	call.Protocol = p
	ctx = context.WithValue(ctx, callKey{}, call)
	limited, cancel := context.WithTimeout(ctx, c.deadline)
	defer cancel()
	c.runAdmission(limited, call)
	if call.refusal == nil {
		call.refusal = call.beginArrival()
	}
	call.admissionTime = time.Since(call.started)
	return ctx, call
}

// runAdmission runs the admission steps and stores the first error as the call's refusal. A panic becomes a refusal, too.
func (c *Chain) runAdmission(ctx context.Context, call *Call) {
	defer func() {
		if p := recover(); p != nil {
			call.refusal = c.panicError(ctx, call, p)
		}
	}()
	call.admissionDone = true
	for _, step := range admissionSteps {
		if call.refusal = step(c, ctx, call); call.refusal != nil {
			return
		}
	}
}

// Refused reports whether the call was refused. The server need not read the message of a refused call.
func (call *Call) Refused() bool { return call.refusal != nil }

// Fail refuses an admitted call whose message cannot be read. It does nothing if the call is refused already.
func (call *Call) Fail(err error) {
	if call.refusal == nil {
		call.refusal = err
	}
}

// End releases the memory and the count of unfinished calls that the call holds. It may be called more than once.
func (call *Call) End() {
	call.MessageArrived()
	call.releaseMemory()
}

// handlerContext returns the handler's context: ctx with the authenticated caller. For a call of a public or anonymous method it returns
// ctx unchanged, and [actor.From] returns false.
func (call *Call) handlerContext(ctx context.Context) context.Context {
	if call.actor.Kind != "" {
		ctx = actor.With(ctx, call.actor)
	}
	return ctx
}

// requireKnownMethod refuses a call of an unknown method. It rate-limits such calls by client address, because the credential is not
// checked yet.
func (c *Chain) requireKnownMethod(ctx context.Context, call *Call) error {
	if call.method != unknownMethod {
		return nil
	}
	if err := c.limit(ctx, call); err != nil {
		return err
	}
	return fault.New(fault.Unimplemented, fault.UnimplementedReason, "there is no method %s", call.Method)
}

// maxMethodName is how many bytes of an unknown method's name appear in logs and answers.
const maxMethodName = 200

// printableMethod makes the name of an unknown method safe for logs and answers: it replaces invalid UTF-8, and cuts the name after
// maxMethodName bytes.
func printableMethod(method string) string {
	method = strings.ToValidUTF8(method, "\uFFFD")
	if cut := text.Truncate(method, maxMethodName); cut != method {
		return cut + "…"
	}
	return method
}

// setClientAddress stores the client's address in the call. It never fails.
func (c *Chain) setClientAddress(ctx context.Context, call *Call) error {
	call.Client = clientAddr(ctx, call.md[HeaderForwardedFor], c.proxies)
	return nil
}

// authenticate identifies the caller with the authenticator of the method's API area and stores the actor in the call. It ignores the
// credentials of public and anonymous methods. A refused caller also counts towards the rate limit.
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
		return withCredentialHint(f, call.method.area, call.credentials(ctx))
	}
	if err != nil {
		return err
	}
	call.actor = a
	return nil
}

// limit counts the call against its rate limit, and refuses it above. It sets the RateLimit headers of the answer. Public methods and
// operators on the Unix socket have none. Calls are counted per integration with batches apart, per token for other callers with batches
// included, and per address without a credential. Refused calls have their own limit per address, so that a script with an expired token
// does not use up the limit of guests behind the same address.
func (c *Chain) limit(_ context.Context, call *Call) error {
	if call.method.public {
		return nil
	}
	l := c.calls
	if call.method.access.GetBatch() {
		l = c.batches
	}
	var subject string
	switch known := call.actor.Kind != ""; {
	case call.actor.Kind == actor.Integration:
		subject = call.actor.Subject()
	case known && call.actor.TokenID != "":
		l, subject = c.tokens, call.actor.TokenID
	case !known && call.Client.IsValid() && call.method.access.GetAnonymous():
		subject = "address:" + ClientNetwork(call.Client)
	case !known && call.Client.IsValid():
		subject = "refused:" + ClientNetwork(call.Client)
	default:
		return nil
	}
	return l.take(c.clock.Now(), subject, call.header)
}

// authorize refuses an authenticated caller that lacks the scope, role or right for the method.
func (c *Chain) authorize(_ context.Context, call *Call) error {
	return MayCall(call.actor, call.method.access, c.clock.Now())
}

// MayCall returns the error that refuses an authenticated caller an RPC with the access rule, or nil if the caller is allowed to call it.
// It refuses no anonymous caller, and no call of a public method, whose rule is nil. now decides whether a second factor is still
// confirmed.
func MayCall(a actor.Actor, rule *rpcv1.Access, now time.Time) error {
	if a.Kind == "" || rule == nil {
		return nil
	}
	if rule.GetScope() != "" && a.Kind == actor.Integration && !a.Has(rule.GetScope()) {
		return fault.New(fault.Denied, fault.ScopeMissing, "the scope %s is needed for this call: ask the property to grant it to this integration", rule.GetScope()).
			Put("scope", rule.GetScope())
	}
	if a.PersonID != "" {
		return authorizePerson(a, rule, now)
	}
	if rule.GetRight() == string(staff.Self) {
		return fault.New(fault.Denied, fault.PersonRequired, "a person must sign in for this call; a token is not enough")
	}
	if rule.GetRole() != "" && a.Kind == actor.Staff && !credential.Suffices(a.Role, rule.GetRole()) {
		return fault.New(fault.Denied, fault.RoleMissing, "the role %s is needed for this call", rule.GetRole()).
			Put("role", rule.GetRole())
	}
	return nil
}

// authorizePerson returns the error that refuses a signed-in person a call, or nil: the call names no property, the role lacks the right,
// or the person must first prove again who they are.
func authorizePerson(a actor.Actor, rule *rpcv1.Access, now time.Time) error {
	right := staff.Right(rule.GetRight())
	switch {
	case right != staff.Self && a.PropertyID == "":
		return fault.New(fault.Invalid, fault.PropertyRequired, "name the property of this call in the header Latchkey-Property; GetSession lists yours")
	case right != staff.Self && !staff.Allows(staff.Role(a.Role), right):
		return fault.New(fault.Denied, fault.RightMissing, "the right %s is needed for this call; your role %s does not include it", right, a.Role).
			Put("right", string(right))
	case rule.GetStepUp():
		return staff.StepUp(a, right, now)
	}
	return nil
}
