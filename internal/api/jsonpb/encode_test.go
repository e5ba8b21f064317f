package jsonpb

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// same checks that Append writes the same as protojson, except for spaces.
func same(t rapid.TB, m proto.Message) {
	t.Helper()
	got, err := Append(nil, m.ProtoReflect())
	text, wantErr := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%v: %v, want %v", m, err, wantErr)
	}
	if err != nil {
		return
	}
	var want bytes.Buffer
	if err := json.Compact(&want, text); err != nil {
		t.Fatal(err)
	}
	if plain := compact(t, got); plain != want.String() {
		t.Fatalf("got  %.2000s\nwant %.2000s", plain, want.String())
	}
}

func compact(t rapid.TB, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

func TestAppendKnownMessages(t *testing.T) {
	detail, err := anypb.New(&partnerv1.Booker{LastName: "<Ærø> & \"x\"\u2028"})
	if err != nil {
		t.Fatal(err)
	}
	text := "a\"\\\b\f\n\r\t\x00\x1f\x7f/é😀"
	price := 1e21
	for _, m := range []proto.Message{
		&partnerv1.Reservation{}, &partnerv1.UpsertReservationResponse{}, &partnerv1.UpsertReservationResponse{Data: &partnerv1.Reservation{}},
		&partnerv1.Reservation{Id: text, PmsMeta: &partnerv1.PmsMeta{CompanionIds: []string{"", text}, UpdatedAt: timestamppb.Now()}, Price: &price},
		&errorsv1.Error{Title: "T", Details: []*anypb.Any{detail}}, &propertyv1.PropertySettings{},
		&structpb.Struct{Fields: map[string]*structpb.Value{"b": structpb.NewNumberValue(1), "a": structpb.NewNullValue()}},
		wrapperspb.String("x"), durationpb.New(1500), timestamppb.Now(), detail,
		&timestamppb.Timestamp{Seconds: math.MaxInt64}, &partnerv1.Reservation{CreatedAt: &timestamppb.Timestamp{Nanos: -1}},
		&partnerv1.Reservation{CreatedAt: &timestamppb.Timestamp{Seconds: -62135596800}, UpdatedAt: &timestamppb.Timestamp{Seconds: 1, Nanos: 120_000}},
		&partnerv1.Reservation{Id: "\xff"},
		protodesc.ToFileDescriptorProto(partnerv1.File_latchkey_partner_v1_reservation_proto),
	} {
		same(t, m)
	}
}

// everything is a message with a field of each kind, alone, optional, in a list and in a map.
func everything(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	kinds := map[string]descriptorpb.FieldDescriptorProto_Type{}
	for n, name := range descriptorpb.FieldDescriptorProto_Type_name {
		if k := descriptorpb.FieldDescriptorProto_Type(n); k != descriptorpb.FieldDescriptorProto_TYPE_GROUP {
			kinds[name] = k
		}
	}
	m := &descriptorpb.DescriptorProto{Name: proto.String("Everything")}
	number := int32(0)
	field := func(prefix string, k descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		number++
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(prefix + k.String()), Number: proto.Int32(number), Type: k.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		switch k {
		case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
			f.TypeName = proto.String(".t.Everything")
		case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
			f.TypeName = proto.String(".t.Word")
		}
		return f
	}
	for name, k := range kinds {
		list := field("list_", k)
		list.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		option := field("option_", k)
		option.Proto3Optional = proto.Bool(true)
		option.OneofIndex = proto.Int32(int32(len(m.OneofDecl)))
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + option.GetName())})
		plain := strings.ToLower(strings.ReplaceAll(name, "_", ""))
		entry := "Map" + plain + "Entry"
		value := field("", k)
		value.Name, value.Number = proto.String("value"), proto.Int32(2)
		key := field("", descriptorpb.FieldDescriptorProto_TYPE_STRING)
		key.Name, key.Number = proto.String("key"), proto.Int32(1)
		m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
			Name: proto.String(entry), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}, Field: []*descriptorpb.FieldDescriptorProto{key, value},
		})
		mapped := field("map_", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)
		mapped.Name, mapped.TypeName = proto.String("map"+plain), proto.String(".t.Everything."+entry)
		mapped.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		m.Field = append(m.Field, field("one_", k), list, option, mapped)
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Word"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("NONE"), Number: proto.Int32(0)}, {Name: proto.String("ONE"), Number: proto.Int32(1)},
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().Get(0)
}

func TestAppendWritesWhatProtojsonWrites(t *testing.T) {
	md := everything(t)
	rapid.Check(t, func(t *rapid.T) {
		m := dynamicpb.NewMessage(md)
		fill(t, m, 0)
		same(t, m)
	})
}

// fill sets random fields of a message.
func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for range rapid.IntRange(0, 12).Draw(t, "fields") {
		f := fields.Get(rapid.IntRange(0, fields.Len()-1).Draw(t, "field"))
		switch {
		case f.IsList():
			list := m.Mutable(f).List()
			if f.Message() != nil {
				if depth < 2 {
					fill(t, list.AppendMutable().Message(), depth+1)
				}
				continue
			}
			list.Append(draw(t, f))
		case f.IsMap():
			key := protoreflect.ValueOfString(rapid.String().Draw(t, "key")).MapKey()
			if f.MapValue().Message() != nil {
				if depth < 2 {
					fill(t, m.Mutable(f).Map().Mutable(key).Message(), depth+1)
				}
				continue
			}
			m.Mutable(f).Map().Set(key, draw(t, f.MapValue()))
		case f.Message() != nil:
			if depth < 2 {
				fill(t, m.Mutable(f).Message(), depth+1)
			}
		default:
			m.Set(f, draw(t, f))
		}
	}
}

func draw(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(0, 2).Draw(t, "enum")))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(rapid.Uint32().Draw(t, "float")))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(rapid.Uint64().Draw(t, "double")))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}
	return protoreflect.ValueOfString(rapid.String().Draw(t, "text"))
}

func BenchmarkAppend(b *testing.B) {
	text := func(s string) *string { return &s }
	count, price := int32(2), 420.5
	m := &partnerv1.UpsertReservationResponse{Data: &partnerv1.Reservation{
		Id: "rsv_01j000000000000000000000000", PropertyId: "prp_01j000000000000000000000000", HostelId: "prp_01j000000000000000000000000",
		PmsMeta: &partnerv1.PmsMeta{Id: "B-1", SpaceId: text("R101"), UpdatedAt: timestamppb.Now()}, PmsNumber: "1",
		Booker: &partnerv1.Booker{FirstName: text("Ada"), LastName: "Lovelace", Email: text("ada@example.com")}, State: "confirmed",
		From: text("2026-07-01T15:00:00+02:00"), To: text("2026-07-03T11:00:00+02:00"), AdultCount: &count, Price: &price,
		CreatedAt: timestamppb.Now(), UpdatedAt: timestamppb.Now(),
		Access: &partnerv1.AccessPlan{Status: "none", Doors: []*partnerv1.AccessDoor{{DoorId: "spc_1", Name: "Room 101", Kind: "room", Pin: "planned"}, {DoorId: "gat_1", Name: "Front", Kind: "gate", Pin: "planned"}}},
	}}
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			if _, err := Append(make([]byte, 0, 2048), m.ProtoReflect()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		for b.Loop() {
			if _, err := (protojson.MarshalOptions{EmitDefaultValues: true}).Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
