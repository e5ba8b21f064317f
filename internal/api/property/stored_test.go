package property

import (
	"testing"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// An answer that is stored under an Idempotency-Key outlives the erasure of a guest, so it has neither the name of a phone nor a recipient.
// A repeated answer has what is stored elsewhere by then.
func TestStoredAnswersNameNoGuest(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		keys := a.w.deps.Keys
		seal := func(purpose, text string) []byte {
			sealed, err := keys.Seal(a.ctx, a.id, purpose, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return sealed
		}
		dbtest.Insert(a.T, a.w.d, "phones", dbtest.Values{"id": "phn_1", "property_id": a.id, "label": seal("phoneName/phn_1", "Ana's phone")})
		dbtest.Insert(a.T, a.w.d, "mails", dbtest.Values{"id": "mai_1", "property_id": a.id, "address": seal("mail/mai_1", "ana@example.com"), "reply": seal("mailReply/mai_1", "no ana here")})
		phone := func(name string) proto.Message {
			return &propertyv1.RevokeSmartKeyPhoneResponse{Data: &propertyv1.SmartKeyPhone{Id: "phn_1", Name: name}}
		}
		mail := func(to, reply string) *propertyv1.Mail {
			return &propertyv1.Mail{Id: "mai_1", MaskedTo: to, Answer: reply}
		}
		resent := func(to, reply string) proto.Message { return &propertyv1.ResendMailResponse{Data: mail(to, reply)} }
		bounce := func(to, reply string) proto.Message {
			return &propertyv1.ReportBounceResponse{Data: &propertyv1.Bounce{Outcome: "bounced", Mail: mail(to, reply)}}
		}
		erase := func() {
			a.w.write(a.T, func(tx *db.Tx) error {
				if err := tx.Phone.UpdateOneID("phn_1").ClearLabel().Exec(tx.Context()); err != nil {
					return err
				}
				return tx.Mail.DeleteOneID("mai_1").Exec(tx.Context())
			})
		}
		answers := map[string][2]proto.Message{ // what was given, and what is stored
			propertyv1.SmartKeyService_RevokeSmartKeyPhone_FullMethodName: {phone("Ana's phone"), phone("")},
			propertyv1.MailService_ResendMail_FullMethodName:              {resent("a…@example.com", "no ana here"), resent("", "")},
			propertyv1.MailService_ReportBounce_FullMethodName:            {bounce("a…@example.com", "no ana here"), bounce("", "")},
		}
		repeat := func(method string, stored proto.Message) proto.Message {
			answer := proto.Clone(stored)
			if err := Renderers(a.w.deps)[method](a.ctx, answer); err != nil {
				t.Fatal(method, err)
			}
			return answer
		}
		for method, answer := range answers {
			stored := proto.Clone(answer[0])
			if remove := StripPersonal()[method]; remove != nil {
				remove(stored)
			}
			if !proto.Equal(stored, answer[1]) {
				t.Errorf("%s stores %v", method, stored)
				continue
			}
			if again := repeat(method, stored); !proto.Equal(again, answer[0]) {
				t.Errorf("%s repeats %v", method, again)
			}
		}
		erase()
		for method, answer := range answers {
			if again := repeat(method, answer[1]); !proto.Equal(again, answer[1]) {
				t.Errorf("%s repeats %v after the erasure", method, again)
			}
		}
	})
}

// A stored answer about a check-in has none of the texts about a guest, and still says that a stage was refused.
func TestStoredCheckInHasNoTextsAboutTheGuest(t *testing.T) {
	for method, remove := range StripPersonal() {
		answer := map[string]proto.Message{
			propertyv1.CheckInService_AskAgain_FullMethodName:   &propertyv1.AskAgainResponse{Data: checkInWithTexts()},
			propertyv1.CheckInService_ClearStage_FullMethodName: &propertyv1.ClearStageResponse{Data: checkInWithTexts()},
			propertyv1.CheckInService_EndCall_FullMethodName:    &propertyv1.EndCallResponse{Data: checkInWithTexts()},
			propertyv1.CheckInService_WaiveOwing_FullMethodName: &propertyv1.WaiveOwingResponse{Data: checkInWithTexts()},
		}[method]
		if answer == nil {
			continue
		}
		remove(answer)
		want := &propertyv1.StaffCheckIn{
			Stops: []*propertyv1.StaffStop{{Reason: "partnerError"}},
			Cleared: []*propertyv1.ClearedStage{
				{Stage: "identityCheck", By: "Eva", Refused: "notStored"}, {Stage: "signature", By: "Eva"},
			},
		}
		if got := answer.(interface {
			GetData() *propertyv1.StaffCheckIn
		}).GetData(); !proto.Equal(got, want) {
			t.Errorf("%s stores %v", method, got)
		}
	}
}

func checkInWithTexts() *propertyv1.StaffCheckIn {
	return &propertyv1.StaffCheckIn{
		Stops: []*propertyv1.StaffStop{{Reason: "partnerError", PartnerReason: "silva", PartnerMessage: "Ana Silva owes"}},
		Cleared: []*propertyv1.ClearedStage{
			{Stage: "identityCheck", By: "Eva", Refused: "the passport is not Ana's"}, {Stage: "signature", By: "Eva"},
		},
	}
}
