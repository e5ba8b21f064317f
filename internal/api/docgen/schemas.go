package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"latchkey.dev/internal/text"
)

const schemaPrefix = "#/components/schemas/"

// schemaNames maps message types to the names of their schemas in one document.
type schemaNames map[protoreflect.FullName]string

// newSchemaNames returns the schema names of messages: those without their packages. If messages of several packages share a name, the
// message of the package pkg keeps it, and the names of the others begin with their package, such as GuestPerson. It fails if two messages
// still get the same name.
func newSchemaNames(pkg string, messages []string) (schemaNames, error) {
	count := map[string]int{}
	for _, full := range messages {
		_, short := splitName(full)
		count[short]++
	}
	names, owner := schemaNames{}, map[string]string{}
	for _, full := range messages {
		of, name := splitName(full)
		switch {
		case of == "google.protobuf":
			name = "GoogleProtobuf" + name
		case count[name] > 1 && of != pkg:
			of = strings.TrimPrefix(of, "latchkey.")
			area, _, _ := strings.Cut(of, ".")
			name = text.Capitalize(area) + name
		}
		if other := owner[name]; other != "" {
			return nil, fmt.Errorf("openapi: %s and %s have the same schema name %s", other, full, name)
		}
		names[protoreflect.FullName(full)], owner[name] = name, full
	}
	return names, nil
}

// splitName splits the full name of a message into its package and the rest.
func splitName(full string) (pkg, short string) {
	i := strings.LastIndexByte(full, '.')
	return full[:max(i, 0)], full[i+1:]
}

// shortenSchemas replaces the full names of messages, which the generator gives to schemas and writes into references, by short ones. It
// sorts the schemas by these. pkg is the package of the area. It fails if two messages get the same name, or for a reference to no schema.
func shortenSchemas(pkg string, root, schemas *yaml.Node) (schemaNames, error) {
	var messages []string
	for i := 0; i < len(schemas.Content); i += 2 {
		messages = append(messages, schemas.Content[i].Value)
	}
	names, err := newSchemaNames(pkg, messages)
	if err != nil {
		return nil, err
	}
	var pairs [][]*yaml.Node
	for pair := range slices.Chunk(schemas.Content, 2) {
		pair[0].Value = names[protoreflect.FullName(pair[0].Value)]
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	schemas.Content = slices.Concat(pairs...)
	return names, names.shortenReferences(root)
}

// shortenReferences replaces the full names in all references below a node. It returns an error for a reference to a schema that is not in
// the document.
func (names schemaNames) shortenReferences(n *yaml.Node) error {
	if ref := child(n, "$ref"); ref != nil {
		full, _ := strings.CutPrefix(ref.Value, schemaPrefix)
		name := names[protoreflect.FullName(full)]
		if name == "" {
			return fmt.Errorf("openapi: no schema of %s", ref.Value)
		}
		ref.Value = schemaPrefix + name
	}
	for _, inner := range n.Content {
		if err := names.shortenReferences(inner); err != nil {
			return err
		}
	}
	return nil
}

// addSchema adds a schema that the generator does not know. It refuses a name that another schema has.
func addSchema(schemas *yaml.Node, name string, schema *yaml.Node) error {
	if child(schemas, name) != nil {
		return fmt.Errorf("openapi: two schemas have the name %s", name)
	}
	setChild(schemas, name, schema)
	return nil
}
