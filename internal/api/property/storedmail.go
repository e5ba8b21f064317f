package property

import (
	"context"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/mail"
)

// mailIn returns the mail in an answer of ResendMail or ReportBounce, or nil.
func mailIn(answer proto.Message) *propertyv1.Mail {
	switch m := answer.(type) {
	case *propertyv1.ResendMailResponse:
		return m.GetData()
	case *propertyv1.ReportBounceResponse:
		return m.GetData().GetMail()
	}
	return nil
}

// removeRecipient removes what the mail in an answer says about its recipient: the masked address, and what the mail server answered.
func removeRecipient(answer proto.Message) {
	if m := mailIn(answer); m != nil {
		m.MaskedTo, m.Answer = "", ""
	}
}

// renderMail is an idem.Renderer: it adds to a repeated answer what removeRecipient removed, unless it was erased meanwhile.
func (s *mails) renderMail(ctx context.Context, answer proto.Message) error {
	propertyID, err := callerProperty(ctx)
	m := mailIn(answer)
	if err != nil || m == nil {
		return err
	}
	view := s.DB.View(ctx)
	row, err := mail.Get(view, propertyID, m.GetId())
	if fault.Has(err, fault.NotFoundReason) {
		return nil
	}
	if err != nil {
		return err
	}
	present, err := s.message(ctx, view, row)
	if err == nil {
		m.MaskedTo, m.Answer = present.GetMaskedTo(), present.GetAnswer()
	}
	return err
}

var _ idem.Renderer = (&mails{}).renderMail
