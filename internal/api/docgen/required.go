package main

import (
	"regexp"
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// pathField matches a field in a path, such as {guestId}.
var pathField = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// markRequired marks the required fields of each schema: those that a call must send or, for a schema that only answers have, those that
// every answer has. Generated clients then need no check for absent values. It removes path parameters from the bodies of requests.
func markRequired(pkg string, names schemaNames, paths, schemas *yaml.Node) {
	sent, answered := map[protoreflect.FullName]protoreflect.MessageDescriptor{}, map[protoreflect.FullName]protoreflect.MessageDescriptor{}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		operations := paths.Content[i+1].Content
		for j := 1; j < len(operations); j += 2 {
			method := methodOf(pkg, childValue(operations[j], "operationId"))
			if method == nil {
				continue
			}
			for _, found := range pathField.FindAllStringSubmatch(paths.Content[i].Value, -1) {
				removeChild(child(child(schemas, names[method.Input().FullName()]), "properties"), found[1])
			}
			addMessages(sent, method.Input())
			addMessages(answered, method.Output())
		}
	}
	for name, m := range answered {
		if sent[name] == nil {
			setRequired(child(schemas, names[name]), m, isAlwaysAnswered)
		}
	}
	for name, m := range sent {
		setRequired(child(schemas, names[name]), m, mustBeSent)
	}
}

// addMessages adds a message type and the types of its fields, at any depth, to a map by name.
func addMessages(to map[protoreflect.FullName]protoreflect.MessageDescriptor, m protoreflect.MessageDescriptor) {
	if to[m.FullName()] != nil {
		return
	}
	to[m.FullName()] = m
	for i := range m.Fields().Len() {
		if inner := m.Fields().Get(i).Message(); inner != nil && !inner.IsMapEntry() {
			addMessages(to, inner)
		}
	}
}

// setRequired sets in a schema the list of required properties: those for which the function required reports true. If there are none, it
// leaves the schema unchanged. m is the message type of the schema.
func setRequired(schema *yaml.Node, m protoreflect.MessageDescriptor, required func(protoreflect.FieldDescriptor) bool) {
	properties := child(schema, "properties")
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range m.Fields().Len() {
		if fd := m.Fields().Get(i); required(fd) && child(properties, fd.JSONName()) != nil {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fd.JSONName()})
		}
	}
	if len(list.Content) > 0 {
		setChild(schema, "required", list)
	}
}

// isAlwaysAnswered reports whether every answer has a field, because the encoder writes it even with its default value.
func isAlwaysAnswered(fd protoreflect.FieldDescriptor) bool { return !fd.HasPresence() }

// mustBeSent reports whether a rule in the proto refuses a request without a field. A handler can refuse it, too.
func mustBeSent(fd protoreflect.FieldDescriptor) bool {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	if rules.GetRequired() {
		return true
	}
	if fd.HasPresence() || rules.GetIgnore() != validate.Ignore_IGNORE_UNSPECIFIED {
		return false
	}
	text := rules.GetString()
	return text.GetMinLen() > 0 || len(text.GetIn()) > 0 && !slices.Contains(text.GetIn(), "") || rules.GetInt32().GetGte() > 0 ||
		rules.GetRepeated().GetMinItems() > 0 || rules.GetBytes().GetMinLen() > 0
}

// removeChild removes a key of a YAML mapping.
func removeChild(n *yaml.Node, key string) {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
