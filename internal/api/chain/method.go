package chain

import (
	"fmt"
	"slices"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
	"latchkey.dev/internal/fault"
)

// method is what the chain knows of one RPC before it is called.
type method struct {
	service string // "latchkey.partner.v1.ReservationService"
	area    string // "latchkey.partner.v1"
	public  bool
	streams bool // in either direction
	access  *rpcv1.Access
	own     string // JSON name of the field that the handler validates, "" for none
	static  func(proto.Message) []fault.Field
	entries []protoreflect.FieldDescriptor // the lists of messages whose entries are validated one by one
	options []protovalidate.ValidationOption
}

var nobody = &method{}

// handles reports whether what is at a path is for the method's handler to validate.
func (m *method) handles(path string) bool {
	rest, ok := strings.CutPrefix(path, m.own)
	return ok && m.own != "" && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

func (c *Chain) method(full string) *method {
	if m := c.methods[full]; m != nil {
		return m
	}
	return nobody
}

// Registrar registers services of generated code with every protocol at once.
type Registrar struct {
	chain *Chain
	to    []grpc.ServiceRegistrar
	err   error
}

// Registrar returns a registrar that passes each service on to the given ones. Ask Err when
// done.
func (c *Chain) Registrar(to ...grpc.ServiceRegistrar) *Registrar {
	return &Registrar{chain: c, to: to}
}

// Err returns why a service could not be registered: an RPC without an access rule, or an
// area without an authenticator.
func (r *Registrar) Err() error { return r.err }

// RegisterService implements grpc.ServiceRegistrar.
func (r *Registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if err := r.chain.learn(desc); err != nil {
		if r.err == nil {
			r.err = err
		}
		return
	}
	for _, to := range r.to {
		if server, ok := to.(*grpc.Server); ok {
			server.RegisterService(r.chain.overGRPC(desc), impl)
			continue
		}
		to.RegisterService(desc, impl)
	}
}

// learn looks up the rules of a service's RPCs.
func (c *Chain) learn(desc *grpc.ServiceDesc) error {
	if c.public[desc.ServiceName] {
		c.learnPublic(desc)
		return nil
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName))
	if err != nil {
		return fmt.Errorf("chain: service %s: %w", desc.ServiceName, err)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return fmt.Errorf("chain: %s is no service", desc.ServiceName)
	}
	for i := range sd.Methods().Len() {
		md := sd.Methods().Get(i)
		m := &method{service: desc.ServiceName, area: string(sd.ParentFile().Package()), streams: md.IsStreamingClient() || md.IsStreamingServer()}
		full := fmt.Sprintf("/%s/%s", desc.ServiceName, md.Name())
		m.static = c.static[full]
		if !proto.HasExtension(md.Options(), rpcv1.E_Access) {
			return fmt.Errorf("chain: %s has no (latchkey.rpc.v1.access) rule", full)
		}
		m.access, _ = proto.GetExtension(md.Options(), rpcv1.E_Access).(*rpcv1.Access)
		if !m.access.GetAnonymous() && c.auth[m.area] == nil {
			return fmt.Errorf("chain: %s: nobody authenticates callers of %s", full, m.area)
		}
		if err := m.leave(c.own[full], md.Input()); err != nil {
			return fmt.Errorf("chain: %s: %w", full, err)
		}
		c.know(full, m)
	}
	return nil
}

// know takes up an RPC. Its panics are counted from 0, so that an alarm sees the first.
func (c *Chain) know(full string, m *method) {
	c.methods[full] = m
	c.metrics.panics.WithLabelValues(full)
}

// learnPublic takes up the RPCs of a service that needs no credential.
func (c *Chain) learnPublic(desc *grpc.ServiceDesc) {
	open := &method{service: desc.ServiceName, public: true}
	for _, m := range desc.Methods {
		c.know(fmt.Sprintf("/%s/%s", desc.ServiceName, m.MethodName), open)
	}
	streams := &method{service: desc.ServiceName, public: true, streams: true}
	for _, s := range desc.Streams {
		c.know(fmt.Sprintf("/%s/%s", desc.ServiceName, s.StreamName), streams)
	}
}

// leave takes the field that the handler validates out of the chain's validation, and the entries of the request's lists,
// which are validated one by one.
func (m *method) leave(name string, input protoreflect.MessageDescriptor) error {
	var left protoreflect.FullName
	if name != "" {
		fd := input.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			return fmt.Errorf("%s has no field %s", input.FullName(), name)
		}
		m.own = fd.JSONName()
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
