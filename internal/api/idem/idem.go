// Package idem implements the Idempotency-Key header: calls of one caller to one method with the same key take effect once and get the same
// answer. The key and the answer are stored in the transaction of the change, so that a crash cannot separate them.
package idem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// AnswerTTL is how long the answer (the response message) of a call with an Idempotency-Key is stored. After that, a call with the same key
// takes effect again.
const AnswerTTL = 7 * 24 * time.Hour

// Renderer completes a stored answer for a repeated call: it adds current PINs and tokens, because secrets are not stored in answers, or
// updates a result that was not known yet. If it fails, the repeated call fails.
type Renderer func(ctx context.Context, answer proto.Message) error

// Answers stores the answers of calls by their idempotency key.
type Answers struct {
	DB   *db.DB
	Keys *keyring.Ring
	// Render maps a full method name to its renderer. Without one, an answer that contains a secret cannot be repeated.
	Render map[string]Renderer
	// StripPersonal maps a full method name to a function that removes the personal data from an answer before it is stored, so that a
	// stored answer does not outlive the erasure of a guest. The method's renderer in Render adds these data again if the database still
	// has them.
	StripPersonal map[string]func(answer proto.Message)

	mu      sync.Mutex
	running map[db.AnswerKey]bool // keys of the calls that run in this process
}

// claim is the idempotency key of one call and a hash of its request, by which a key that is used for another request is refused.
type claim struct {
	db.AnswerKey
	hash   []byte // keyed hash of the request; a plain hash would reveal a request with few possible values, such as a date of birth
	former []byte // plain hash of the request, which earlier versions of the server stored; it still matches
}

// claimKey is the context key of a call's *claim.
type claimKey struct{}

// Unary is the [chain.Interceptor] for the Idempotency-Key: it answers a repeated call with the stored answer, and runs the handler for any
// other call, also after a failed one. It fails while the first call with the key runs, and if the key was used for another request. Only
// a handler that uses [Write] stores its answer. It runs after authentication and validation.
func (a *Answers) Unary(ctx context.Context, call *chain.Call, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c, answer, err := a.newClaim(ctx, call, req, info.FullMethod)
	if err != nil || c == nil {
		if err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
	if !a.tryStart(c.AnswerKey) {
		return nil, inFlightError()
	}
	defer a.finish(c.AnswerKey)
	found, err := a.loadAnswer(ctx, c, answer)
	if err != nil {
		return nil, err
	}
	if found {
		return answer, nil
	}
	return next(context.WithValue(ctx, claimKey{}, c), req)
}

// newClaim returns the claim of a mutating call with an Idempotency-Key and a known caller, and an empty message of the method's answer
// type. Both are nil for any other call.
func (a *Answers) newClaim(ctx context.Context, call *chain.Call, req any, method string) (*claim, proto.Message, error) {
	key := call.IdempotencyKey()
	if key == "" {
		return nil, nil, nil
	}
	rule, output := findMethod(method)
	if rule == nil || !rule.GetMutates() {
		return nil, nil, nil
	}
	who, ok := actor.From(ctx)
	if !ok {
		return nil, nil, nil
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(req.(proto.Message))
	if err != nil {
		return nil, nil, fmt.Errorf("hash a request: %w", err)
	}
	// The hash includes unknown fields and invalid values, which the message does not contain.
	raw = append(raw, call.IncompleteBody()...)
	plain := sha256.Sum256(raw)
	c := &claim{
		AnswerKey: db.AnswerKey{Holder: who.Subject(), PropertyID: who.PropertyID, Method: method, Key: key},
		hash:      a.Keys.MAC("idempotencyRequest", string(raw)), former: plain[:],
	}
	return c, output.New().Interface(), nil
}

// tryStart marks a key as in use by a running call of this process. It returns false if another call with the key still runs; otherwise the
// caller must call finish.
func (a *Answers) tryStart(k db.AnswerKey) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[k] {
		return false
	}
	if a.running == nil {
		a.running = map[db.AnswerKey]bool{}
	}
	a.running[k] = true
	return true
}

// finish undoes tryStart after the call.
func (a *Answers) finish(k db.AnswerKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, k)
}

// inFlightError returns the error for a key whose first call still runs.
func inFlightError() error {
	return fault.New(fault.Exists, fault.IdempotencyInFlight, "a call with this Idempotency-Key is still running; try again shortly").Retry(time.Second)
}

// errShownOnce refuses to repeat an answer whose secret is not stored, because an answer without the secret would look complete.
var errShownOnce = fault.New(fault.Exists, fault.ShownOnce,
	"this call succeeded before, and its answer contained a secret that is not stored: rotate the secret of what it created, or create another with a new Idempotency-Key")

// loadAnswer loads the stored answer for the key into answer and reports whether there is one. It fails if the key was used for another
// request, or if the answer has a secret that cannot be shown again.
func (a *Answers) loadAnswer(ctx context.Context, c *claim, answer proto.Message) (bool, error) {
	row, err := a.DB.LoadAnswer(ctx, c.AnswerKey)
	if row == nil || err != nil {
		return false, err
	}
	if !bytes.Equal(row.RequestHash, c.hash) && !bytes.Equal(row.RequestHash, c.former) {
		return false, fault.New(fault.Invalid, fault.IdempotencyKeyReused, "this Idempotency-Key was used for another request; use a new key for each request")
	}
	if len(row.Sealed) == 0 {
		return false, errShownOnce
	}
	raw, err := a.Keys.Open(ctx, c.PropertyID, c.purpose(), row.Sealed)
	if err != nil {
		return false, fmt.Errorf("decrypt a stored answer: %w", err)
	}
	if err := proto.Unmarshal(raw, answer); err != nil {
		return false, fmt.Errorf("decode a stored answer: %w", err)
	}
	if render := a.Render[c.Method]; render != nil {
		return true, render(ctx, answer)
	}
	return true, nil
}

// purpose returns the text that binds the sealed answer to its call: see [keyring.Ring.Seal].
func (c *claim) purpose() string { return "idempotency/" + c.Holder + c.Method + "/" + c.Key }

// Write runs change in one transaction and returns its answer. The same transaction adds the call to the audit log and, if the call has an
// Idempotency-Key, stores the answer for repeated calls. ctx is the context of the handler. change can run more than once: see
// [db.DB.Write].
func Write[R proto.Message](ctx context.Context, a *Answers, change func(tx *db.Tx) (R, error)) (R, error) {
	var answer R
	err := a.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if answer, err = change(tx); err != nil {
			return err
		}
		if err := a.recordCall(ctx, tx, answer); err != nil {
			return err
		}
		c, _ := ctx.Value(claimKey{}).(*claim)
		if c == nil {
			return nil
		}
		return a.storeAnswer(tx, c, answer)
	})
	if err != nil {
		var none R
		return none, err
	}
	chain.From(ctx).MarkRecorded()
	return answer, nil
}

// recordCall adds the call of ctx to the audit log, in the transaction of its change. It does nothing for a method that is not audited.
func (a *Answers) recordCall(ctx context.Context, tx *db.Tx, answer proto.Message) error {
	r, ok := chain.From(ctx).AuditRecord(answer, audit.Done)
	if !ok {
		return nil
	}
	return audit.Append(tx, a.Keys, r)
}

// storeAnswer stores the encrypted answer under the claim's key, in the transaction of the change. If a concurrent call, such as on another
// node, has stored one first, it returns inFlightError, so that this change is not stored.
func (a *Answers) storeAnswer(tx *db.Tx, c *claim, answer proto.Message) error {
	kept, err := a.sealAnswer(tx.Context(), c, answer)
	if err != nil {
		return err
	}
	err = tx.StoreAnswer(c.AnswerKey, db.Answer{RequestHash: c.hash, Sealed: kept}, AnswerTTL)
	if errors.Is(err, db.ErrAnswerExists) {
		return inFlightError()
	}
	return err
}

// sealAnswer encrypts an answer for storage, without its secrets and without the personal data that StripPersonal names for the method. The
// result is empty if the answer has a secret and the method has no renderer: such an answer cannot be repeated.
func (a *Answers) sealAnswer(ctx context.Context, c *claim, answer proto.Message) ([]byte, error) {
	bare := proto.Clone(answer)
	if removeSecrets(bare.ProtoReflect()) && a.Render[c.Method] == nil {
		return []byte{}, nil
	}
	if remove := a.StripPersonal[c.Method]; remove != nil {
		remove(bare)
	}
	raw, err := proto.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	sealed, err := a.Keys.Seal(ctx, c.PropertyID, c.purpose(), raw)
	if err != nil {
		return nil, fmt.Errorf("seal an answer: %w", err)
	}
	return sealed, nil
}

// removeSecrets clears every field with the proto option debug_redact, at any depth. It reports whether one had a value.
func removeSecrets(m protoreflect.Message) (removed bool) {
	visit := func(e protoreflect.Value) { removed = removeSecrets(e.Message()) || removed }
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSecret(f):
			m.Clear(f)
			removed = true
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool { visit(e); return true })
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				visit(v.List().Get(i))
			}
		case f.Message() != nil && !f.IsMap():
			visit(v)
		}
		return true
	})
	return removed
}

// findMethod returns the access rule and the answer type of a method, or nil and nil if it has no access rule.
func findMethod(method string) (*rpcv1.Access, protoreflect.MessageType) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, nil
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok || !proto.HasExtension(m.Options(), rpcv1.E_Access) {
		return nil, nil
	}
	output, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil, nil
	}
	return proto.GetExtension(m.Options(), rpcv1.E_Access).(*rpcv1.Access), output
}

// isSecret reports whether a field has the proto option debug_redact, which marks PINs and tokens.
func isSecret(f protoreflect.FieldDescriptor) bool {
	o, ok := f.Options().(*descriptorpb.FieldOptions)
	return ok && o.GetDebugRedact()
}
