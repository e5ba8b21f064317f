package web_test

import (
	"strings"
	"testing"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/test/browser"
)

// The pages of the operator, and the pages that people of the staff open without a session or with a link, hold each language.
// TestStaffPagesInEverySetting opens the other pages of staff.
func TestOperatorPagesInEachLanguage(t *testing.T) {
	t.Parallel()
	for _, m := range matrix([]setting{{size: browser.Narrow, language: "fr"}}, browser.Narrow, browser.Desktop) {
		t.Run(m.String(), func(t *testing.T) {
			w := open(t)
			token, err := adminv1.NewTokenServiceClient(w.Socket).CreateOperatorToken(t.Context(), &adminv1.CreateOperatorTokenRequest{Name: "Ana's laptop"})
			if err != nil {
				t.Fatal(err)
			}
			kiosk, err := propertyv1.NewKioskServiceClient(w.Public).CreateKiosk(w.Staff(t.Context()), &propertyv1.CreateKioskRequest{Name: "Garden"})
			if err != nil {
				t.Fatal(err)
			}
			app, err := adminv1.NewAppServiceClient(w.Socket).CreateApp(t.Context(), &adminv1.CreateAppRequest{Name: "Cloud PMS"})
			if err != nil {
				t.Fatal(err)
			}
			p := browser.Open(t, m.options()...)
			p.SetCookie(w.Base, "lk-lang", m.language)
			look := func(name string) {
				if name != "app-poster" { // it speaks the language of the property
					p.WaitUntil("the language", `document.documentElement.lang === "`+m.language+`"`)
				}
				p.Fits()
				p.Screenshot(strings.ReplaceAll(name, "/", "-"))
				if all {
					p.Axe()
					p.KeyboardWalk()
				}
			}
			for _, page := range []string{"login", "login?again=yes"} {
				p.Visit(w.Base + "/app/" + page)
				look("app-" + strings.NewReplacer("?", "-", "=", "-").Replace(page))
			}
			p.Visit(w.ownerLink())
			look("app-first")
			p.FillAt("#f-name", "Marta Silva")
			p.FillAt("#f-email", "marta@example.com")
			p.FillAt("#f-password", staffPassword)
			p.ClickAt("main form button")
			p.Wait("nav")
			p.Visit(w.Base + "/app/settings/kiosks/" + kiosk.GetData().GetId() + "/poster")
			look("app-poster")
			p.Visit(w.Base + "/app/settings/people")
			p.FillAt("#f-email", "joao@example.com")
			p.ClickAt("main form button:not(.second)")
			p.Wait("code.secret")
			look("app-people-link")
			_, link, _ := strings.Cut(p.HTML(), `<code class="secret">`)
			link, _, _ = strings.Cut(link, "<")
			p.Visit(link)
			look("app-invite")

			p.Visit(w.Base + "/operator/")
			look("operator-login")
			p.FillAt("#f-token", token.GetToken())
			p.ClickAt("main form button")
			p.Wait("nav")
			for _, page := range []string{"", "apps", "apps/" + app.GetData().GetId(), "properties", "properties/" + w.PropertyID, "properties/" + w.PropertyID + "/tokens", "tokens", "jobs", "session"} {
				p.Visit(w.Base + "/operator/" + page)
				look("operator-" + strings.NewReplacer(app.GetData().GetId(), "APP", w.PropertyID, "PROPERTY").Replace(page))
			}
		})
	}
}
