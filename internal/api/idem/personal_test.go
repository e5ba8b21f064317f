package idem_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	rpcv1 "latchkey.dev/gen/latchkey/rpc/v1"
)

// personalFields are the names of fields that hold data of guests.
var personalFields = []protoreflect.Name{"first_name", "last_name", "second_last_name", "email", "mobile", "street", "guest_name", "companion_ids", "birth_date", "partner_message"}

// fieldsOfGuests are further fields that hold data of guests, whose names others have too.
var fieldsOfGuests = []protoreflect.FullName{"latchkey.property.v1.SmartKeyPhone.name", "latchkey.property.v1.Mail.masked_to", "latchkey.property.v1.Mail.answer", "latchkey.property.v1.ClearedStage.refused"}

// withPersonal are the mutations whose answers hold data of guests. Those fields are removed before an answer is stored: see [idem.Answers.StripPersonal].
var withPersonal = []protoreflect.FullName{
	"latchkey.partner.v1.ReservationService.BatchUpsertReservations",
	"latchkey.partner.v1.ReservationService.ResetKeyChain",
	"latchkey.partner.v1.ReservationService.UpsertReservation",
	"latchkey.property.v1.CheckInService.AskAgain",
	"latchkey.property.v1.CheckInService.ClearStage",
	"latchkey.property.v1.CheckInService.EndCall",
	"latchkey.property.v1.CheckInService.WaiveOwing",
	"latchkey.property.v1.MailService.ReportBounce",
	"latchkey.property.v1.MailService.ResendMail",
	"latchkey.property.v1.SmartKeyService.RevokeSmartKeyPhone",
}

// holdsPersonal reports whether a stored message can hold a field with data of guests. Fields with debug_redact are never stored.
func holdsPersonal(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if seen[m.FullName()] {
		return false
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if o, ok := f.Options().(*descriptorpb.FieldOptions); ok && o.GetDebugRedact() {
			continue
		}
		if f.Kind() == protoreflect.StringKind && (slices.Contains(personalFields, f.Name()) || slices.Contains(fieldsOfGuests, f.FullName())) || f.Message() != nil && holdsPersonal(f.Message(), seen) {
			return true
		}
	}
	return false
}

// Stored answers may outlive the erasure of a guest: only mutations that remove the data before may answer with data of guests.
func TestNoOtherAnswerHoldsPersonalData(t *testing.T) {
	var found []protoreflect.FullName
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				access, _ := proto.GetExtension(m.Options(), rpcv1.E_Access).(*rpcv1.Access)
				if access.GetMutates() && holdsPersonal(m.Output(), map[protoreflect.FullName]bool{}) {
					found = append(found, m.FullName())
				}
			}
		}
		return true
	})
	slices.Sort(found)
	if !slices.Equal(found, withPersonal) {
		t.Errorf("answers with data of guests: %v, want %v: mark the fields debug_redact, or remove the data before the answer is stored", found, withPersonal)
	}
}
