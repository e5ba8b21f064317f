package jsonpb

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// FillMasks fills the field masks of a request, because protobuf does not record which fields the JSON body contained. update_mask gets the
// sent fields of the resource. update_masks gets one mask for each list entry. Masks that the caller sent stay.
func (r *Report) FillMasks(msg protoreflect.Message) {
	fields := msg.Descriptor().Fields()
	if fd := fields.ByName("update_mask"); isMask(fd) && !fd.IsList() {
		if of := maskedField(fields, fd); of != nil && countPaths(msg.Get(fd).Message()) == 0 {
			setMask(msg, fd, r.maskBelow(string(of.Name())))
		}
	}
	if fd := fields.ByName("update_masks"); isMask(fd) && fd.IsList() {
		if of := maskedField(fields, fd); of != nil {
			r.fillEntryMasks(msg.Mutable(fd).List(), of.JSONName())
		}
	}
}

// fillEntryMasks fills masks with the field mask of each entry of a list in the body. list is the list's JSON name. Only missing and empty
// masks are filled.
func (r *Report) fillEntryMasks(masks protoreflect.List, list string) {
	for i := range r.Len(list) {
		derived := protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: r.EntryMask(list, i)}).ProtoReflect())
		switch {
		case i >= masks.Len():
			masks.Append(derived)
		case countPaths(masks.Get(i).Message()) == 0:
			masks.Set(i, derived)
		}
	}
}

// maskBelow returns the fields that the body contains below a message field. The paths are relative to that field.
func (r *Report) maskBelow(field string) []string {
	var found []string
	for _, path := range r.Mask("") {
		if rest, ok := strings.CutPrefix(path, field+"."); ok {
			found = append(found, rest)
		}
	}
	return found
}

// maskedField returns the field to which a field mask applies: the first other message field of the request, or the first list of messages
// if the mask is a list.
func maskedField(fields protoreflect.FieldDescriptors, mask protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
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

// countPaths returns the number of paths in a google.protobuf.FieldMask.
func countPaths(mask protoreflect.Message) int {
	m, _ := mask.Interface().(*fieldmaskpb.FieldMask)
	return len(m.GetPaths())
}

// setMask sets the field mask fd of msg, unless there are no paths.
func setMask(msg protoreflect.Message, fd protoreflect.FieldDescriptor, paths []string) {
	if len(paths) > 0 {
		msg.Set(fd, protoreflect.ValueOfMessage((&fieldmaskpb.FieldMask{Paths: paths}).ProtoReflect()))
	}
}
