// Package idem keeps the promise of Idempotency-Key: a call that is repeated under its key has one effect and one
// answer. The key's row is written in the change's own transaction, since two commits would break the promise on a crash.
package idem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/ent"
	entidempotency "latchkey.dev/ent/idempotency"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
)

// Keep is how long an answer is remembered.
const Keep = 7 * 24 * time.Hour

// Renderer puts back into a remembered answer what is not remembered: PINs and tokens, as they are now.
type Renderer func(ctx context.Context, answer proto.Message) error

// Memory remembers answers.
type Memory struct {
	DB   *db.DB
	Keys *keyring.Ring
	// Render by full method name, for methods whose answers hold secrets.
	Render map[string]Renderer

	mu      sync.Mutex
	running map[claim]bool
}

// claim is one call under its key.
type claim struct {
	holder, property, method, key string
	hash                          [sha256.Size]byte
}

type claimKey struct{}

// Unary is the interceptor: after authentication and validation, right before the handler.
func (m *Memory) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c, answer, err := m.claim(ctx, req, info.FullMethod)
	if err != nil || c == nil {
		if err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
	if !m.start(*c) {
		return nil, inFlight()
	}
	defer m.finish(*c)
	known, err := m.recall(ctx, c, answer)
	if err != nil {
		return nil, err
	}
	if known {
		return answer, nil
	}
	return next(context.WithValue(ctx, claimKey{}, c), req)
}

// claim reads the key of a call that changes something; nil without one.
func (m *Memory) claim(ctx context.Context, req any, method string) (*claim, proto.Message, error) {
	key := chain.IdempotencyKey(ctx)
	if key == "" {
		return nil, nil, nil
	}
	rule, output := find(method)
	if rule == nil || !rule.GetMutates() {
		return nil, nil, nil
	}
	a, ok := actor.From(ctx)
	if !ok {
		return nil, nil, nil
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(req.(proto.Message))
	if err != nil {
		return nil, nil, fmt.Errorf("hash a request: %w", err)
	}
	// What a body holds besides its message tells two requests apart as well.
	raw = append(raw, body.From(ctx).Beyond()...)
	c := &claim{holder: a.Subject(), property: a.PropertyID, method: method, key: key, hash: sha256.Sum256(raw)}
	return c, output.New().Interface(), nil
}

// id of a claim, whatever its request.
func (c claim) id() claim {
	c.hash = [sha256.Size]byte{}
	return c
}

func (m *Memory) start(c claim) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[c.id()] {
		return false
	}
	if m.running == nil {
		m.running = map[claim]bool{}
	}
	m.running[c.id()] = true
	return true
}

func (m *Memory) finish(c claim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.running, c.id())
}

func inFlight() error {
	return fault.New(fault.Exists, fault.IdempotencyInFlight, "a call with this Idempotency-Key is still running; ask again shortly").Retry(time.Second)
}

// errShownOnce refuses to repeat an answer whose secret is kept nowhere: without it, it would look like one that went well.
var errShownOnce = fault.New(fault.Exists, fault.ShownOnce,
	"this call was done, and its first answer showed a secret that is not kept: give what it made another secret, or make another under a new Idempotency-Key")

// recall fills answer with what was answered before under the key.
func (m *Memory) recall(ctx context.Context, c *claim, answer proto.Message) (bool, error) {
	row, err := m.DB.Read().Idempotency.Query().Where(entidempotency.Holder(c.holder), entidempotency.Method(c.method),
		entidempotency.Key(c.key), entidempotency.ExpiresAtGT(m.DB.View(ctx).Now())).Only(ctx)
	if ent.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for an idempotency key: %w", err)
	}
	if !bytes.Equal(row.RequestHash, c.hash[:]) {
		return false, fault.New(fault.Invalid, fault.IdempotencyKeyReused, "this Idempotency-Key was used for another request; draw a new key for each request")
	}
	if len(row.Answer) == 0 {
		return false, errShownOnce
	}
	raw, err := m.Keys.Open(ctx, c.property, c.purpose(), row.Answer)
	if err != nil {
		return false, fmt.Errorf("open a remembered answer: %w", err)
	}
	if err := proto.Unmarshal(raw, answer); err != nil {
		return false, fmt.Errorf("read a remembered answer: %w", err)
	}
	if render := m.Render[c.method]; render != nil {
		return true, render(ctx, answer)
	}
	return true, nil
}

func (c *claim) purpose() string { return "idempotency/" + c.holder + c.method + "/" + c.key }

// Write runs a change in one transaction and answers with its result. Under an Idempotency-Key the answer is remembered
// in the same transaction.
func Write[R proto.Message](ctx context.Context, m *Memory, change func(tx *db.Tx) (R, error)) (R, error) {
	var answer R
	err := m.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if answer, err = change(tx); err != nil {
			return err
		}
		c, _ := ctx.Value(claimKey{}).(*claim)
		if c == nil {
			return nil
		}
		return m.remember(tx, c, answer)
	})
	if err != nil {
		var none R
		return none, err
	}
	return answer, nil
}

func (m *Memory) remember(tx *db.Tx, c *claim, answer proto.Message) error {
	kept, err := m.kept(tx.Context(), c, answer)
	if err != nil {
		return err
	}
	_, err = tx.Idempotency.Delete().Where(entidempotency.Holder(c.holder), entidempotency.Method(c.method),
		entidempotency.Key(c.key), entidempotency.ExpiresAtLTE(tx.Now())).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("forget an old idempotency key: %w", err)
	}
	err = tx.Idempotency.Create().SetHolder(c.holder).SetMethod(c.method).SetKey(c.key).SetRequestHash(c.hash[:]).
		SetAnswer(kept).SetPropertyID(c.property).SetExpiresAt(tx.Now().Add(Keep)).SetCreatedAt(tx.Now()).Exec(tx.Context())
	if ent.IsConstraintError(err) {
		return inFlight()
	}
	if err != nil {
		return fmt.Errorf("remember an idempotency key: %w", err)
	}
	return nil
}

// kept is what is stored of an answer: nothing of one that showed a secret nobody can put back.
func (m *Memory) kept(ctx context.Context, c *claim, answer proto.Message) ([]byte, error) {
	bare := proto.Clone(answer)
	if strip(bare.ProtoReflect()) && m.Render[c.method] == nil {
		return []byte{}, nil
	}
	raw, err := proto.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("write an answer down: %w", err)
	}
	sealed, err := m.Keys.Seal(ctx, c.property, c.purpose(), raw)
	if err != nil {
		return nil, fmt.Errorf("seal an answer: %w", err)
	}
	return sealed, nil
}

// strip takes every field out that is marked debug_redact, and says whether there was any.
func strip(m protoreflect.Message) (some bool) {
	within := func(e protoreflect.Value) { some = strip(e.Message()) || some }
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case secret(f):
			m.Clear(f)
			some = true
		case f.IsMap() && f.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool { within(e); return true })
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				within(v.List().Get(i))
			}
		case f.Message() != nil && !f.IsMap():
			within(v)
		}
		return true
	})
	return some
}
