package rest_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// A schema with the name of a message of its area has the fields of that message, not those of a message of another package with the
// same name. Requests lack fields that are in the path or the query.
func TestSchemasAreOfTheirArea(t *testing.T) {
	for pkg, path := range map[string]string{"partner": "/openapi.yaml", "property": "/openapi/property.yaml", "admin": "/openapi/admin.yaml", "guest": "/openapi/guest.yaml", "kiosk": "/openapi/kiosk.yaml"} {
		_, spec := docs(t, path)
		var doc struct {
			Components struct {
				Schemas map[string]struct{ Properties map[string]any }
			}
		}
		if err := yaml.Unmarshal([]byte(spec), &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, schema := range doc.Components.Schemas {
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("latchkey." + pkg + ".v1." + name))
			if err != nil {
				continue // a message of another package
			}
			fields := d.(protoreflect.MessageDescriptor).Fields()
			for property := range schema.Properties {
				if fields.ByJSONName(property) == nil {
					t.Errorf("%s: %s.%s is not in the message", path, name, property)
				}
			}
			for i := range fields.Len() {
				if f := fields.Get(i).JSONName(); schema.Properties[f] == nil && !strings.HasSuffix(name, "Request") {
					t.Errorf("%s: %s lacks %s", path, name, f)
				}
			}
		}
	}
}
