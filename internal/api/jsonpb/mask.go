package jsonpb

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// FillMasks fills the field masks of a request, because protobuf does not record which fields the JSON body contained. update_mask gets the
// sent fields of the resource. update_masks gets one mask for each list entry, unless the caller sent a wrong number of masks. A mask with
// paths that the caller sent stays; an empty one counts as not sent.
func (r *Report) FillMasks(msg protoreflect.Message) {
	for _, fd := range maskFields(msg) {
		of := maskedField(msg.Descriptor().Fields(), fd)
		switch {
		case of == nil:
		case fd.IsList():
			r.fillEntryMasks(msg.Mutable(fd).List(), of.JSONName())
		case countPaths(msg.Get(fd).Message()) == 0:
			setMask(msg, fd, r.maskBelow(of))
		}
	}
}

// ClearMasks removes the field masks that the caller sent.
func ClearMasks(msg protoreflect.Message) {
	for _, fd := range maskFields(msg) {
		msg.Clear(fd)
	}
}

// maskFields returns the fields update_mask and update_masks of a request, as far as it has them.
func maskFields(msg protoreflect.Message) (masks []protoreflect.FieldDescriptor) {
	for _, name := range [...]protoreflect.Name{"update_mask", "update_masks"} {
		if fd := msg.Descriptor().Fields().ByName(name); isMask(fd) && fd.IsList() == (name == "update_masks") {
			masks = append(masks, fd)
		}
	}
	return masks
}

// fillEntryMasks fills masks with the field mask of each entry of a list in the body. list is the list's JSON name. Masks with paths stay.
// If the caller sent more or fewer masks than entries, all stay: which one is missing is not known, so the handler refuses them.
func (r *Report) fillEntryMasks(masks protoreflect.List, list string) {
	if masks.Len() != 0 && masks.Len() != r.Len(list) {
		return
	}
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

// maskBelow returns the fields of a message field that the body contains. The paths are relative to that field.
func (r *Report) maskBelow(fd protoreflect.FieldDescriptor) []string {
	if r != nil && r.Field == fd.JSONName() {
		return r.mask
	}
	var found []string
	for _, path := range r.Mask("") {
		if rest, ok := strings.CutPrefix(path, string(fd.Name())+"."); ok {
			found = append(found, rest)
		}
	}
	return found
}

// maskedField returns the field to which a field mask applies: the first other message field of the request, or the first list of messages
// if the mask is a list. It returns nil if there is none.
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
