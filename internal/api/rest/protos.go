package rest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// descriptorSet returns the proto files of the API and their imports as a FileDescriptorSet, from which partners can generate clients with
// buf or protoc.
func descriptorSet() ([]byte, error) {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() { // a FileDescriptorSet lists imports before the files that import them
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, name := range protoFiles() {
		f, err := protoregistry.GlobalFiles.FindFileByPath(name)
		if err != nil {
			return nil, fmt.Errorf("protos: %w", err)
		}
		add(f)
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("protos: %w", err)
	}
	return text, nil
}

// protoFiles returns the paths of the public API's proto files, sorted within each area.
func protoFiles() []string {
	var names []string
	for _, area := range []string{"admin", "errors", "guest", "kiosk", "partner", "pms", "property", "rpc"} {
		var found []string
		protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
			if strings.HasPrefix(f.Path(), "latchkey/"+area+"/") {
				found = append(found, f.Path())
			}
			return true
		})
		slices.Sort(found)
		names = append(names, found...)
	}
	return names
}
