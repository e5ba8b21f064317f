package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
)

// method holds the access and validation rules of one RPC.
type method struct {
	service      string // service name, such as "latchkey.partner.v1.ReservationService"
	area         string // proto package, such as "latchkey.partner.v1", which selects the authenticator
	public       bool
	streams      bool                              // client or server streams messages
	access       *rpcv1.Access                     // nil for a public or unknown method
	handlerField string                            // JSON name of the field that the handler validates itself, or ""
	handle       reportHandler                     // handler that validates handlerField; nil if the handler validates no field
	static       func(proto.Message) []fault.Field // see Config.Static; nil: none
	entries      []protoreflect.FieldDescriptor    // fields that are lists of messages, whose entries are validated one at a time
	options      []protovalidate.ValidationOption  // make the validation of a whole request leave out entries and handlerField
}

// unknownMethod represents any method that is not registered.
var unknownMethod = &method{}

// isHandlerValidated reports whether the handler, not the chain, validates the field at a path, because it is below handlerField. The chain
// validates handlerField itself, for example that it was sent.
func (m *method) isHandlerValidated(path string) bool {
	rest, ok := strings.CutPrefix(path, m.handlerField)
	return ok && m.handlerField != "" && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// findMethod returns the registered method with a full name, or unknownMethod.
func (c *Chain) findMethod(full string) *method {
	if m := c.methods[full]; m != nil {
		return m
	}
	return unknownMethod
}

// Registrar registers a service with the chain and with several gRPC registrars.
type Registrar struct {
	chain *Chain
	to    []grpc.ServiceRegistrar
	err   error
}

// Registrar returns a registrar for the chain and the given registrars. The caller must check Err after the last registration.
func (c *Chain) Registrar(to ...grpc.ServiceRegistrar) *Registrar {
	return &Registrar{chain: c, to: to}
}

// Err returns the first error of a registration, such as an RPC without an access rule.
func (r *Registrar) Err() error { return r.err }

// RegisterService registers a service with the chain and then with each registrar. If the chain refuses the service, no registrar gets it,
// and Err returns the first error.
func (r *Registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if err := r.chain.registerService(desc, impl); err != nil {
		if r.err == nil {
			r.err = err
		}
		return
	}
	for _, to := range r.to {
		if server, ok := to.(*grpc.Server); ok {
			server.RegisterService(r.chain.withAdmission(desc), impl)
			continue
		}
		to.RegisterService(desc, impl)
	}
}

// registerService adds the methods of the service impl. Their access rules come from proto options; a public service has none. It fails
// for a method without a valid rule or without an authenticator, for one whose handler in Config.HandlerFields belongs to another type, and
// for an audited stream. The methods before that one stay added.
func (c *Chain) registerService(desc *grpc.ServiceDesc, impl any) error {
	if c.public[desc.ServiceName] {
		c.registerPublic(desc)
		return nil
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName))
	if err != nil {
		return fmt.Errorf("chain: service %s: %w", desc.ServiceName, err)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return fmt.Errorf("chain: %s is not a service", desc.ServiceName)
	}
	for i := range sd.Methods().Len() {
		md := sd.Methods().Get(i)
		m := &method{service: desc.ServiceName, area: string(sd.ParentFile().Package()), streams: md.IsStreamingClient() || md.IsStreamingServer()}
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, md.Name())
		m.static = c.static[full]
		if m.access = accessOf(md); m.access == nil {
			return fmt.Errorf("chain: %s has no (latchkey.rpc.v1.access) rule", full)
		}
		if err := checkRight(m.access); err != nil {
			return fmt.Errorf("chain: %s: %w", full, err)
		}
		if !m.access.GetAnonymous() && c.auth[m.area] == nil {
			return fmt.Errorf("chain: %s: there is no authenticator for %s", full, m.area)
		}
		if m.streams && m.isAudited() {
			return fmt.Errorf("chain: %s: a stream has no entry in the audit log", full)
		}
		field, ok := c.handlerFields[full]
		if ok {
			if m.handle, ok = field.bind(impl); !ok {
				return fmt.Errorf("chain: %s: %T does not have the handler that validates %s", full, impl, field.name)
			}
		}
		if err := m.excludeFromValidation(field.name, md.Input()); err != nil {
			return fmt.Errorf("chain: %s: %w", full, err)
		}
		c.addMethod(full, m)
	}
	return nil
}

// accessOf returns the access rule of an RPC, or nil.
func accessOf(md protoreflect.MethodDescriptor) *rpcv1.Access {
	if !proto.HasExtension(md.Options(), rpcv1.E_Access) {
		return nil
	}
	rule, _ := proto.GetExtension(md.Options(), rpcv1.E_Access).(*rpcv1.Access)
	return rule
}

// AccessRule returns the access rule of the RPC with a full name, such as "/latchkey.property.v1.LockService/ListLocks", or nil if the RPC
// has none. It panics for an unknown RPC.
func AccessRule(fullMethod string) *rpcv1.Access {
	name := strings.ReplaceAll(strings.TrimPrefix(fullMethod, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	return accessOf(d.(protoreflect.MethodDescriptor))
}

// checkRight returns an error for an access rule with an unknown right, or with a role, a step-up or a reveal but no right. Signed-in
// people have rights; tokens have roles.
func checkRight(rule *rpcv1.Access) error {
	switch right := rule.GetRight(); {
	case right == "" && rule.GetRole() != "":
		return errors.New("it has a role for tokens and no right for people")
	case right != "" && !staff.IsRight(right):
		return fmt.Errorf("there is no right %q", right)
	case right == "" && (rule.GetStepUp() || rule.GetReveals()):
		return errors.New("step_up and reveals need a right")
	}
	return nil
}

// addMethod adds a method. Its panic counter starts at 0, so that an alert notices the first panic.
func (c *Chain) addMethod(full string, m *method) {
	c.methods[full] = m
	c.metrics.panics.WithLabelValues(full)
}

// registerPublic adds the methods of a service that needs no credential.
func (c *Chain) registerPublic(desc *grpc.ServiceDesc) {
	open := &method{service: desc.ServiceName, public: true}
	for _, m := range desc.Methods {
		c.addMethod(fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName), open)
	}
	streams := &method{service: desc.ServiceName, public: true, streams: true}
	for _, s := range desc.Streams {
		c.addMethod(fmt.Sprintf("/%s/%s", desc.ServiceName, s.StreamName), streams)
	}
}

// excludeFromValidation excludes two kinds of fields from the validation of a whole request: the field called name ("" for none), which the
// handler validates, and the entries of lists of messages, which are validated one at a time. It fails if there is no such field. Entries
// are excluded by their type, so a field of the same type elsewhere in the request is not validated.
func (m *method) excludeFromValidation(name string, input protoreflect.MessageDescriptor) error {
	var left protoreflect.FullName
	if name != "" {
		fd := input.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			return fmt.Errorf("%s has no field %s", input.FullName(), name)
		}
		m.handlerField = fd.JSONName()
		if !fd.IsList() {
			left = fd.FullName()
		}
	}
	var apart []protoreflect.FullName
	for i := range input.Fields().Len() {
		fd := input.Fields().Get(i)
		if !fd.IsList() || fd.Message() == nil {
			continue
		}
		apart = append(apart, fd.Message().FullName())
		if string(fd.Name()) != name {
			m.entries = append(m.entries, fd)
		}
	}
	if left == "" && len(apart) == 0 {
		return nil
	}
	m.options = append(m.options, protovalidate.WithFilter(protovalidate.FilterFunc(
		func(within protoreflect.Message, d protoreflect.Descriptor) bool {
			return d.FullName() != left && !slices.Contains(apart, within.Descriptor().FullName())
		},
	)))
	return nil
}

// HandlerField is a field of an RPC's request that the handler validates itself, together with this handler. NewHandlerField makes one.
type HandlerField struct {
	name string // proto name
	// bind returns the handler for the implementation of a service. ok is false if the implementation has another type.
	bind func(service any) (h reportHandler, ok bool)
}

// reportHandler is the handler of an RPC. report is what the JSON reader found in the request; nil for a protobuf request.
type reportHandler func(ctx context.Context, req any, report *jsonpb.Report) (any, error)

// NewHandlerField returns the request field with a proto name and the method that validates it with [Violations]. The chain calls this
// method, with the JSON reader's report, instead of the method of the gRPC interface, which gets only a context and the request.
func NewHandlerField[Service, Req, Resp any](name string, method func(Service, context.Context, *Req, *jsonpb.Report) (*Resp, error)) HandlerField {
	return HandlerField{name: name, bind: func(service any) (reportHandler, bool) {
		s, ok := service.(Service)
		return func(ctx context.Context, req any, report *jsonpb.Report) (any, error) {
			return method(s, ctx, req.(*Req), report)
		}, ok
	}}
}
