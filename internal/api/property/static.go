package property

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// Static finds what is wrong with a request whatever is stored: see [chain.Config.Static].
func Static() map[string]func(proto.Message) []fault.Field {
	return map[string]func(proto.Message) []fault.Field{
		propertyv1.SpaceService_CreateSpace_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.CreateSpaceRequest)
			if r.GetSpace() == nil {
				return nil
			}
			return under("space", wrongParent(r.GetSpace()))
		},
		propertyv1.SpaceService_BatchCreateSpaces_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.BatchCreateSpacesRequest)
			var wrong []fault.Field
			for i, n := range r.GetSpaces() {
				wrong = append(wrong, under(fmt.Sprintf("spaces[%d]", i), wrongParent(n))...)
			}
			return wrong
		},
		propertyv1.MappingService_BatchSetMappings_FullMethodName: func(m proto.Message) []fault.Field {
			r, _ := m.(*propertyv1.BatchSetMappingsRequest)
			return twice(r.GetMappings())
		},
	}
}

// under puts the paths of wrong fields under a field of the request.
func under(prefix string, fields []fault.Field) []fault.Field {
	out := make([]fault.Field, 0, len(fields))
	for _, f := range fields {
		if f.Path = prefix + "." + f.Path; f.Path == prefix+"." {
			f.Path = prefix
		}
		out = append(out, f)
	}
	return out
}
