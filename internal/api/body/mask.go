package body

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// FillMasks completes a request whose JSON was the whole body with what protobuf cannot hold, which fields were named: its
// update_mask by those of its resource, its update_masks by those of each entry of its list. A mask that the caller wrote
// stays. A list of masks that becomes too long is one of too many entries.
func (r *Report) FillMasks(msg protoreflect.Message) {
	fields := msg.Descriptor().Fields()
	if fd := fields.ByName("update_mask"); isMask(fd) && !fd.IsList() {
		if of := resource(fields, fd); of != nil && paths(msg.Get(fd).Message()) == 0 {
			setMask(msg, fd, r.within(string(of.Name())))
		}
	}
	if fd := fields.ByName("update_masks"); isMask(fd) && fd.IsList() {
		if of := resource(fields, fd); of != nil {
			r.fillEach(msg.Mutable(fd).List(), of.JSONName())
		}
	}
}

func (r *Report) fillEach(masks protoreflect.List, list string) {
	for i := range r.Len(list) {
		derived := protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: r.EntryMask(list, i)}).ProtoReflect())
		switch {
		case i >= masks.Len():
			masks.Append(derived)
			r.Derived = true
		case paths(masks.Get(i).Message()) == 0:
			masks.Set(i, derived)
		}
	}
}

// within are the named fields of a field of the body.
func (r *Report) within(field string) []string {
	var found []string
	for _, path := range r.Mask("") {
		if rest, ok := strings.CutPrefix(path, field+"."); ok {
			found = append(found, rest)
		}
	}
	return found
}

// resource is what a mask is about: the first other message, one or a list as the mask is.
func resource(fields protoreflect.FieldDescriptors, mask protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	for i := range fields.Len() {
		if f := fields.Get(i); f != mask && f.Message() != nil && !f.IsMap() && f.IsList() == mask.IsList() {
			return f
		}
	}
	return nil
}

func isMask(fd protoreflect.FieldDescriptor) bool {
	return fd != nil && fd.Message() != nil && fd.Message().FullName() == "google.protobuf.FieldMask"
}

func paths(mask protoreflect.Message) int {
	m, _ := mask.Interface().(*fieldmaskpb.FieldMask)
	return len(m.GetPaths())
}

func setMask(msg protoreflect.Message, fd protoreflect.FieldDescriptor, paths []string) {
	if len(paths) > 0 {
		msg.Set(fd, protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: paths}).ProtoReflect()))
	}
}
