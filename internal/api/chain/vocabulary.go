package chain

import (
	"slices"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// vocabulary lists the parts of a message type that hold words of a fixed list (an "in" rule).
type vocabulary struct {
	words  []wordField
	nested []protoreflect.FieldDescriptor // message fields that lead to such words
}

type wordField struct {
	field protoreflect.FieldDescriptor
	words []string
}

var vocabularies sync.Map // protoreflect.MessageDescriptor → *vocabulary; nil: there are no words in it

// canonicalize replaces each word of a fixed list by its canonical spelling where only the case differs.
// A word that is in no list stays as it is, for validation to refuse.
func canonicalize(m protoreflect.Message) {
	v := vocabularyOf(m.Descriptor(), nil)
	if v == nil {
		return
	}
	for _, w := range v.words {
		if !m.Has(w.field) {
			continue
		}
		if w.field.IsList() {
			list := m.Mutable(w.field).List()
			for i := range list.Len() {
				if word := list.Get(i).String(); !slices.Contains(w.words, word) {
					list.Set(i, protoreflect.ValueOfString(canonical(w.words, word)))
				}
			}
			continue
		}
		if word := m.Get(w.field).String(); !slices.Contains(w.words, word) {
			m.Set(w.field, protoreflect.ValueOfString(canonical(w.words, word)))
		}
	}
	for _, fd := range v.nested {
		switch {
		case !m.Has(fd):
		case fd.IsList():
			list := m.Get(fd).List()
			for i := range list.Len() {
				canonicalize(list.Get(i).Message())
			}
		default:
			canonicalize(m.Get(fd).Message())
		}
	}
}

// canonical returns the word of the list that differs from word in case only, or word itself.
func canonical(words []string, word string) string {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) }); i >= 0 {
		return words[i]
	}
	return word
}

// vocabularyOf finds the words of a message type. open holds the types that enclose it: a type
// within itself is not followed.
func vocabularyOf(md protoreflect.MessageDescriptor, open []protoreflect.FullName) *vocabulary {
	if v, ok := vocabularies.Load(md); ok {
		return v.(*vocabulary)
	}
	open = append(open, md.FullName())
	v := &vocabulary{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch {
		case fd.IsMap():
		case fd.Kind() == protoreflect.StringKind:
			if words := wordsOf(fd); len(words) > 0 {
				v.words = append(v.words, wordField{fd, words})
			}
		case fd.Message() != nil && !slices.Contains(open, fd.Message().FullName()) && vocabularyOf(fd.Message(), open) != nil:
			v.nested = append(v.nested, fd)
		}
	}
	if len(v.words)+len(v.nested) == 0 {
		v = nil
	}
	vocabularies.Store(md, v)
	return v
}

func wordsOf(fd protoreflect.FieldDescriptor) []string {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if fd.IsList() {
		rules = rules.GetRepeated().GetItems()
	}
	return rules.GetString().GetIn()
}
