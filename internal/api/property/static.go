package property

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// Static returns the validation of requests that needs no stored data but that proto rules cannot express, by full method name: see
// [chain.Config.Static].
func Static() map[string]func(proto.Message) []fault.Field {
	return map[string]func(proto.Message) []fault.Field{
		propertyv1.SpaceService_CreateSpace_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.CreateSpaceRequest)
			if r.GetSpace() == nil {
				return nil
			}
			return prefixPaths("space", parentErrors(r.GetSpace()))
		},
		propertyv1.SpaceService_BatchCreateSpaces_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.BatchCreateSpacesRequest)
			var wrong []fault.Field
			for i, n := range r.GetSpaces() {
				wrong = append(wrong, prefixPaths(fmt.Sprintf("spaces[%d]", i), parentErrors(n))...)
			}
			return wrong
		},
		propertyv1.MappingService_BatchSetMappings_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.BatchSetMappingsRequest)
			return duplicates(r.GetMappings())
		},
	}
}

// prefixPaths returns a copy of field errors, with paths that begin with the name of a request field. An empty path becomes the prefix.
func prefixPaths(prefix string, fields []fault.Field) []fault.Field {
	out := make([]fault.Field, 0, len(fields))
	for _, f := range fields {
		if f.Path = prefix + "." + f.Path; f.Path == prefix+"." {
			f.Path = prefix
		}
		out = append(out, f)
	}
	return out
}
