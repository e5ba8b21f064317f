package staff

import (
	"net/http"
	"slices"

	"github.com/boombuler/barcode/qr"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// posterSentence is the sentence of a poster that invites guests to check in, in one language.
type posterSentence struct{ Lang, Text string }

// poster is a sheet to hang up, with the QR code that opens the check-in on a guest's phone.
type poster struct {
	Kiosk *propertyv1.Kiosk
	QR    kit.QR
	Calls []posterSentence // the property's language first
	// Unnamed reports whether the PDF file leaves out the property's name, whose letters its font lacks.
	Unnamed bool
}

// posterOf returns the poster of the check-in tablet in the path. The error is NotFound if there is no such tablet.
func (x *exchange) posterOf() (poster, error) {
	found, err := x.site.api.Kiosks.ListKiosks(x.call(), &propertyv1.ListKiosksRequest{})
	if err != nil {
		return poster{}, err
	}
	list := found.GetData().GetList()
	at := slices.IndexFunc(list, func(k *propertyv1.Kiosk) bool { return k.GetId() == x.R.PathValue("id") })
	if at < 0 {
		return poster{}, fault.New(fault.NotFound, fault.KioskNotFound, "there is no such tablet")
	}
	rules, err := x.checkInSettings()
	if err != nil {
		return poster{}, err
	}
	made := poster{Kiosk: list[at], QR: kit.DrawQR(x.Address("/q/"+list[at].GetDoor()), qr.M, qr.Auto), Unnamed: !canDraw(boldFont, x.property.GetName())}
	for _, lang := range x.newPage("staff.poster.title").Languages {
		one := posterSentence{lang, kit.Words{Lang: lang}.Text("staff.poster.call", nil)}
		if lang == rules.GetLanguage() {
			made.Calls = append([]posterSentence{one}, made.Calls...)
			continue
		}
		made.Calls = append(made.Calls, one)
	}
	return made, nil
}

// showPoster handles the page of a tablet's poster, which can be printed.
func (s *site) showPoster(x *exchange) error {
	v, err := x.posterOf()
	if err != nil {
		return err
	}
	p := x.newPage("staff.poster.title", "name", v.Kiosk.GetName())
	p.Here, p.Back, p.Data = "settings", "/app/settings/kiosks", v
	return x.render(http.StatusOK, "poster", p)
}

// downloadPoster handles the download of the poster as a PDF file.
func (s *site) downloadPoster(x *exchange) error {
	v, err := x.posterOf()
	if err != nil {
		return err
	}
	file, err := v.pdf(x.property.GetName())
	if err != nil {
		return err
	}
	h := x.W.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Disposition", `attachment; filename="poster.pdf"`)
	_, err = x.W.Write(file)
	return err
}
