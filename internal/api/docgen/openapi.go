package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// These imports register the proto descriptors of all areas, in which methodOf finds the methods and the rules of their fields.
	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	_ "latchkey.dev/gen/latchkey/property/v1"
	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
)

// refine completes the generated OpenAPI document with what the generator does not know: short and distinct names of schemas, security
// schemes, nested query parameters, the Idempotency-Key header, the error format, and which fields are required or nullable. Only the
// document of the partner area gets callbacks and nullable fields; only the others get the required fields of messages.
func refine(a area, openapi []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(openapi, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("openapi: the document is empty")
	}
	root := doc.Content[0]
	paths, schemas := child(root, "paths"), child(child(root, "components"), "schemas")
	if paths == nil || schemas == nil {
		return nil, errors.New("openapi: paths or components.schemas is missing")
	}
	names, err := shortenSchemas(a.Package, root, schemas)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(paths.Content); i += 2 {
		for j := 1; j < len(paths.Content[i].Content); j += 2 {
			if err := refineOperation(a.Package, paths.Content[i].Content[j]); err != nil {
				return nil, err
			}
		}
	}
	if a.isPartner() {
		markNullable(names, schemas, (&partnerv1.Reservation{}).ProtoReflect().Descriptor())
		if err := addCallbacks(root); err != nil {
			return nil, err
		}
	}
	if !a.isPartner() { // the partner API has the same messages in requests and answers, and these require different fields
		markRequired(a.Package, names, paths, schemas)
	}
	var extra yaml.Node
	if err := yaml.Unmarshal([]byte(a.security()+additionsYAML), &extra); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	more := extra.Content[0]
	setChild(root, "servers", child(more, "servers"))
	setChild(root, "security", child(more, "security"))
	setChild(child(root, "components"), "securitySchemes", child(more, "securitySchemes"))
	return &doc, addErrorSchemas(names, schemas, more)
}

// addErrorSchemas adds the schemas of error answers. The generator describes the two inner ones only in the document of an area with a
// message that contains them. Other documents get copies.
func addErrorSchemas(names schemaNames, schemas, from *yaml.Node) error {
	for _, s := range []struct {
		name    string
		message protoreflect.FullName
	}{{"ErrorAnswer", ""}, {"Error", "latchkey.errors.v1.Error"}, {"GoogleProtobufAny", "google.protobuf.Any"}} {
		if names[s.message] == s.name {
			continue
		}
		if err := addSchema(schemas, s.name, child(from, s.name)); err != nil {
			return err
		}
	}
	return nil
}

const additionsYAML = `
servers: [{url: /}]
ErrorAnswer:
    type: object
    properties:
        error:
            allOf: [{$ref: '#/components/schemas/Error'}]
            description: What was wrong.
    description: ErrorAnswer is the body of every answer that is not 2xx.
Error:
    type: object
    properties:
        code: {type: integer, format: int32, description: 'The gRPC code as a number, and two more: 17 METHOD_NOT_ALLOWED, 18 NOT_ACCEPTABLE.'}
        title: {type: string, description: The code's name; 16 is spelt UNAUTHORIZED.}
        message: {type: string, description: 'A text for people: what was wrong, where, and what to do. It may change.'}
        status: {type: integer, format: int32, description: The HTTP status.}
        reason: {type: string, description: 'A word for programs. The reference lists all.'}
        details: {type: array, items: {$ref: '#/components/schemas/GoogleProtobufAny'}, description: 'google.rpc details: BadRequest names each wrong field.'}
        requestId: {type: string, description: Give it when you ask for help.}
    description: Error says what was wrong.
GoogleProtobufAny:
    type: object
    properties:
        '@type': {type: string, description: The type of the detail.}
    additionalProperties: true
    description: GoogleProtobufAny is one detail.
`

const errorResponseYAML = `
description: What was wrong, in the one form that every error has.
content: {application/json: {schema: {$ref: '#/components/schemas/ErrorAnswer'}}}
`

const idempotencyKeyYAML = `
name: Idempotency-Key
in: header
description: A key of the caller's own, up to 255 characters. The same call under the same key is carried out once; its answer is kept for 7 days.
schema: {type: string, maxLength: 255}
`

// refineOperation adds the error answer to an operation and, if it changes data, the Idempotency-Key header. It completes the query
// parameters, writes nested ones with brackets, and removes updateMask. pkg is the proto package.
func refineOperation(pkg string, op *yaml.Node) error {
	answer, key := &yaml.Node{}, &yaml.Node{}
	if err := errors.Join(yaml.Unmarshal([]byte(errorResponseYAML), answer), yaml.Unmarshal([]byte(idempotencyKeyYAML), key)); err != nil {
		return fmt.Errorf("openapi: %w", err)
	}
	if responses := child(op, "responses"); responses != nil {
		setChild(responses, "default", answer.Content[0])
	}
	params := child(op, "parameters")
	if params == nil {
		params = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	// Callers do not send updateMask, because REST derives it from the body.
	params.Content = slices.DeleteFunc(params.Content, func(p *yaml.Node) bool { return childValue(p, "name") == "updateMask" })
	method := methodOf(pkg, childValue(op, "operationId"))
	for _, p := range params.Content {
		if name := child(p, "name"); name != nil && childValue(p, "in") == "query" {
			if isRequired(method, name.Value) {
				setChild(p, "required", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
			}
			if list := allowedValues(method, name.Value); list != nil && child(p, "schema") != nil {
				setChild(child(p, "schema"), "enum", list)
			}
			name.Value = toBrackets(name.Value)
		}
	}
	if mutates(method) {
		params.Content = append(params.Content, key.Content[0])
	}
	if len(params.Content) > 0 {
		setChild(op, "parameters", params)
	}
	return nil
}

// markNullable marks the optional fields of a message and its nested messages as nullable, because sending null clears a field. It does not
// mark optional messages, and does not enter lists and messages of other proto files.
func markNullable(names schemaNames, schemas *yaml.Node, m protoreflect.MessageDescriptor) {
	properties := child(child(schemas, names[m.FullName()]), "properties")
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		property := child(properties, fd.JSONName())
		switch {
		case fd.HasOptionalKeyword() && child(property, "type") != nil:
			setChild(property, "nullable", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
		case fd.Message() != nil && fd.Message().ParentFile() == m.ParentFile() && !fd.IsList():
			markNullable(names, schemas, fd.Message())
		}
	}
}

// methodOf returns the RPC method for an OpenAPI operation id (Service_Method), or nil.
func methodOf(pkg, operation string) protoreflect.MethodDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(pkg) + "." + protoreflect.FullName(strings.Replace(operation, "_", ".", 1)))
	if err != nil {
		return nil
	}
	m, _ := d.(protoreflect.MethodDescriptor)
	return m
}

// mutates reports whether a method changes data and therefore supports the Idempotency-Key header. It is false for nil.
func mutates(m protoreflect.MethodDescriptor) bool {
	if m == nil {
		return false
	}
	access, _ := proto.GetExtension(m.Options(), rpcv1.E_Access).(*rpcv1.Access)
	return access.GetMutates()
}

// isRequired reports whether a query parameter is required, which a rule on its minimum length shows. It is false for a list, and for a
// nested parameter.
func isRequired(m protoreflect.MethodDescriptor, name string) bool {
	if m == nil {
		return false
	}
	fd := m.Input().Fields().ByJSONName(name)
	if fd == nil || fd.IsList() {
		return false
	}
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	return rules.GetString().GetMinLen() > 0
}

// allowedValues returns the values that a query parameter may have, or nil if any value is allowed, or if the parameter is unknown or a
// list.
func allowedValues(m protoreflect.MethodDescriptor, name string) *yaml.Node {
	if m == nil {
		return nil
	}
	md, fd := m.Input(), protoreflect.FieldDescriptor(nil)
	for part := range strings.SplitSeq(name, ".") {
		if md == nil {
			return nil
		}
		if fd = md.Fields().ByJSONName(part); fd == nil {
			return nil
		}
		md = fd.Message()
	}
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	var list *yaml.Node
	for _, w := range rules.GetString().GetIn() {
		if w == "" { // the rule allows "" for a parameter that is not sent; the document lists only values to send
			continue
		}
		if list == nil {
			list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: w})
	}
	return list
}

// toBrackets converts a parameter name such as filter.type to filter[type].
func toBrackets(name string) string {
	head, rest, ok := strings.Cut(name, ".")
	if !ok {
		return name
	}
	return head + "[" + strings.ReplaceAll(rest, ".", "][") + "]"
}

// child returns the value of a key of a YAML mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// childValue returns the text of a key of a YAML mapping, or "".
func childValue(n *yaml.Node, key string) string {
	if c := child(n, key); c != nil {
		return c.Value
	}
	return ""
}

// setChild sets a key of a YAML mapping to v, and adds the key if it is missing.
func setChild(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, v)
}
