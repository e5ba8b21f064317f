package e2etest

import (
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// The import registers the proto descriptors of every API area.
	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	_ "latchkey.dev/gen/latchkey/lock/v1"
	_ "latchkey.dev/gen/latchkey/partner/v1"
	_ "latchkey.dev/gen/latchkey/pms/v1"
	_ "latchkey.dev/gen/latchkey/property/v1"
	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
)

// RPC is a method of the API with its proto descriptor. Access is nil and Routes is empty if the method has no such annotation.
type RPC struct {
	Name   string // Name is such as "latchkey.partner.v1.SpaceService/ListSpaces"
	Desc   protoreflect.MethodDescriptor
	Access *rpcv1.Access
	Routes []Route
}

// Route is an HTTP rule (google.api.http) of an RPC. Body names the field that is the body; "*": the whole request, "": no body.
type Route struct{ Verb, Path, Body string }

// Streams reports whether the client or the server streams messages.
func (r RPC) Streams() bool { return r.Desc.IsStreamingClient() || r.Desc.IsStreamingServer() }

// ProtoPackage returns the proto package that declares the RPC.
func (r RPC) ProtoPackage() string { return string(r.Desc.ParentFile().Package()) }

// Request returns an empty request message.
func (r RPC) Request() proto.Message { return newMessage(r.Desc.Input().FullName()) }

// Reply returns an empty reply message.
func (r RPC) Reply() proto.Message { return newMessage(r.Desc.Output().FullName()) }

// newMessage returns an empty message of a generated type. It panics for an unknown name.
func newMessage(name protoreflect.FullName) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		panic(err) // the program does not import the generated code of this message
	}
	return t.New().Interface()
}

// RPCs returns all RPCs of the API, sorted by name.
func RPCs() []RPC {
	var out []RPC
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "latchkey.") {
			return true
		}
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				out = append(out, newRPC(s, s.Methods().Get(j)))
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b RPC) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// FindRPC returns the RPC with a name such as latchkey.partner.v1.SpaceService/ListSpaces. It panics if it does not exist.
func FindRPC(name string) RPC {
	for _, r := range RPCs() {
		if r.Name == name {
			return r
		}
	}
	panic("there is no RPC " + name)
}

// newRPC returns the RPC of a method m, with its REST routes.
func newRPC(s protoreflect.ServiceDescriptor, m protoreflect.MethodDescriptor) RPC {
	r := RPC{Name: string(s.FullName()) + "/" + string(m.Name()), Desc: m}
	r.Access, _ = proto.GetExtension(m.Options(), rpcv1.E_Access).(*rpcv1.Access)
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if rule == nil {
		return r
	}
	for _, one := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		r.Routes = append(r.Routes, newRoute(one))
	}
	return r
}

// newRoute converts the annotation of a method to a route.
func newRoute(rule *annotations.HttpRule) Route {
	out := Route{Body: rule.GetBody()}
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		out.Verb, out.Path = "GET", p.Get
	case *annotations.HttpRule_Post:
		out.Verb, out.Path = "POST", p.Post
	case *annotations.HttpRule_Patch:
		out.Verb, out.Path = "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		out.Verb, out.Path = "DELETE", p.Delete
	case *annotations.HttpRule_Put:
		out.Verb, out.Path = "PUT", p.Put
	}
	return out
}
