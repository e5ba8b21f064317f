package idem

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
)

// findMethod returns the access rule and the answer type of a method, or nil if it has no access rule.
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

func isSecret(f protoreflect.FieldDescriptor) bool {
	o, ok := f.Options().(*descriptorpb.FieldOptions)
	return ok && o.GetDebugRedact()
}
