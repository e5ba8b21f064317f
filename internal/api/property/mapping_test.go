package property

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/space"
)

// mapped shows the mapping of an integration as "external=own" by name, sorted.
func (h *tenant) mapped(integrationID string) []string {
	h.Helper()
	list := must(h.Mapping.ListPartnerSpaces(h.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: integrationID}))(h.T).GetData().GetList()
	var pairs []string
	for _, p := range list {
		if p.GetState() == "mapped" {
			pairs = append(pairs, p.GetExternalId()+"="+p.GetSpaceName())
		}
	}
	slices.Sort(pairs)
	return pairs
}

func TestSuggestionsAreShownAndApplied(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r101 := a.room("101")
		a.room("102")
		in := a.integration()
		a.listed(in, "Room 101", "102", "Penthouse")
		list := must(a.Mapping.ListPartnerSpaces(a.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in, UnmappedOnly: true}))(t).GetData()
		if list.GetTotal() != 3 {
			t.Fatalf("%d listed", list.GetTotal())
		}
		for _, p := range list.GetList() {
			if p.GetState() != "unmapped" || (p.GetExternalId() == "x-Room 101") != (p.GetSuggestedSpaceId() == r101) {
				t.Errorf("got %v", p)
			}
		}
		exact := must(a.Mapping.ApplySuggestions(a.ctx, &propertyv1.ApplySuggestionsRequest{IntegrationId: in, ExactOnly: true}))(t).GetData()
		same(t, "exact", int32(1), exact.GetTotal())
		must(a.Mapping.ApplySuggestions(a.ctx, &propertyv1.ApplySuggestionsRequest{IntegrationId: in}))(t)
		same(t, "mapped", []string{"x-102=102", "x-Room 101=101"}, a.mapped(in))
		if len(a.w.takeReplanned()) == 0 {
			t.Error("nothing was replanned")
		}
	})
}

func TestBatchOfMappings(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1, r2 := a.room("101"), a.room("102")
		in := a.integration()
		a.listed(in, "1", "2", "3")
		batch := func(pairs ...string) error {
			var all []*propertyv1.Mapping
			for i := 0; i < len(pairs); i += 2 {
				all = append(all, &propertyv1.Mapping{ExternalId: pairs[i], SpaceId: &pairs[i+1]})
			}
			_, err := a.Mapping.BatchSetMappings(a.ctx, &propertyv1.BatchSetMappingsRequest{IntegrationId: in, Mappings: all})
			return err
		}
		for _, c := range []struct {
			what  string
			pairs []string
			want  []string
			fails fault.Reason
		}{
			{"two", []string{"x-1", r1, "x-2", r2}, []string{"x-1=101", "x-2=102"}, ""},
			{"again", []string{"x-1", r1, "x-2", r2}, []string{"x-1=101", "x-2=102"}, ""},
			{"traded", []string{"x-1", r2, "x-2", r1}, []string{"x-1=102", "x-2=101"}, ""},
			{"moved on and emptied", []string{"x-3", r1, "x-2", ""}, []string{"x-1=102", "x-3=101"}, ""},
			{"emptying what is empty", []string{"x-2", ""}, []string{"x-1=102", "x-3=101"}, ""},
			{"held by another", []string{"x-2", r1}, []string{"x-1=102", "x-3=101"}, fault.AlreadyExists},
			{"the second is not there", []string{"x-1", "", "x-3", "spc_none"}, []string{"x-1=102", "x-3=101"}, fault.SpaceNotFound},
			{"a space of the PMS twice", []string{"x-1", r1, "x-1", r2}, []string{"x-1=102", "x-3=101"}, fault.InvalidFields},
			{"a space of the property twice", []string{"x-1", r1, "x-3", r1}, []string{"x-1=102", "x-3=101"}, fault.InvalidFields},
		} {
			err := batch(c.pairs...)
			if c.fails == "" && err != nil || c.fails != "" && !fault.Has(err, c.fails) {
				t.Errorf("%s: got %v, want %q", c.what, err, c.fails)
			}
			same(t, c.what, c.want, a.mapped(in))
		}
	})
}

func TestMappingReplansWhatItTouches(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1 := a.room("101")
		in := a.integration()
		a.listed(in, "1")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-1", SpaceId: r1}))(t)
		was := must(a.Mapping.UnsetMapping(a.ctx, &propertyv1.UnsetMappingRequest{IntegrationId: in, ExternalId: "x-1"}))(t).GetData()
		if was.GetExternalId() != "x-1" || was.GetSpaceId() != r1 {
			t.Errorf("the mapping that was: %v", was)
		}
		replanned := a.w.takeReplanned()
		if len(replanned) != 2 {
			t.Errorf("replanned %d times, want at each of the two changes", len(replanned))
		}
		for _, touched := range replanned {
			if !slices.Contains(touched.SpaceIDs, r1) || !slices.Contains(touched.Externals, space.External{IntegrationID: in, ID: "x-1"}) {
				t.Errorf("replanned %+v", touched)
			}
		}
		refused(a.Mapping.UnsetMapping(a.ctx, &propertyv1.UnsetMappingRequest{IntegrationId: in, ExternalId: "x-1"}))(t, "twice", space.SpaceNotMapped)
	})
}

func TestConflictsAndReadings(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1 := a.room("1")
		in := a.integration()
		a.listed(in, "1", "2")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-1", SpaceId: r1}))(t)
		a.w.read = func(propertyID, integrationID string) error {
			if propertyID != a.id || integrationID != in {
				t.Errorf("read of %s %s", propertyID, integrationID)
			}
			a.listed(in, "2")
			return nil
		}
		got := must(a.Integration.ReadSpaces(a.ctx, &propertyv1.ReadSpacesRequest{Id: in}))(t).GetData()
		if got.GetMapped() != 1 || got.GetOpenConflicts() == 0 {
			t.Errorf("got %v", got)
		}
		list := must(a.Mapping.ListConflicts(a.ctx, &propertyv1.ListConflictsRequest{}))(t).GetData().GetList()
		if len(list) == 0 || list[0].GetKind() != string(space.Missing) || list[0].GetExternalId() != "x-1" {
			t.Errorf("got %v", list)
		}
		failure := fault.New(fault.NotFound, fault.EndpointNotFound, "no endpoint is registered for this action")
		a.w.read = func(string, string) error { return failure }
		refused(a.Integration.ReadSpaces(a.ctx, &propertyv1.ReadSpacesRequest{Id: in}))(t, "unregistered", fault.EndpointNotRegistered)

		a.w.problem = message.Message{Kind: "listing.empty"}
		a.w.read = func(string, string) error {
			return fault.New(fault.Precondition, fault.PartnerError, "the listing is empty")
		}
		_, err := a.Integration.ReadSpaces(metadata.NewIncomingContext(a.ctx, metadata.Pairs("accept-language", "de")), &propertyv1.ReadSpacesRequest{Id: in})
		if f, _ := fault.Of(err); f == nil || f.Reason != fault.PartnerError || f.Meta["problem"] != "Die Liste ist leer, war es vorher aber nicht" {
			t.Errorf("the problem is %v", f)
		}
	})
}

func TestAccessTokenIsShownOnce(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		connected := must(a.Integration.ConnectApp(a.ctx, &propertyv1.ConnectAppRequest{AppId: a.w.app}))(t)
		in, first := connected.GetData().GetId(), connected.GetAccessToken()
		if tokens := connected.GetData().GetAccessTokens(); len(tokens) != 1 || !strings.HasPrefix(first, tokens[0].GetHint()) || len(tokens[0].GetHint()) > 10 {
			t.Fatalf("got %d tokens", len(tokens))
		}
		works := func(token, property string) bool {
			who, err := a.w.deps.Partners.Authenticate(a.Context(), partner.Credentials{Bearer: token})
			return err == nil && who.PropertyID == property
		}
		if !works(first, a.id) {
			t.Error("the token does not work")
		}
		second := must(a.Integration.RotateAccessToken(a.ctx, &propertyv1.RotateAccessTokenRequest{Id: in}))(t).GetAccessToken()
		if works(first, a.id) || !works(second, a.id) {
			t.Error("after the rotation the old one works, or the new one does not")
		}
		must(a.Integration.RevokeAccessToken(a.ctx, &propertyv1.RevokeAccessTokenRequest{Id: in}))(t)
		if works(second, a.id) {
			t.Error("revoked, it works")
		}
		secret := must(a.Integration.RotateSigningSecret(a.ctx, &propertyv1.RotateSigningSecretRequest{Id: in}))(t).GetSigningSecret()
		if !strings.HasPrefix(secret, "whsec_") {
			t.Error("no signing secret")
		}
		a.w.write(t, func(tx *db.Tx) error {
			_, _, err := a.w.deps.Partners.Register(tx, partner.Endpoint{PropertyID: a.id, IntegrationID: in, Action: partner.GetSpaces, URL: "https://pms.example", Token: "hush"}, func(string) error { return nil })
			return err
		})
		e := must(a.Integration.GetIntegration(a.ctx, &propertyv1.GetIntegrationRequest{Id: in}))(t).GetData().GetEndpoints()
		if len(e) != 1 || e[0].GetState() != "unknown" || strings.Contains(e[0].String(), "hush") {
			t.Errorf("endpoints %v", e)
		}
	})
}

func TestAPIKey(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		refused(a.APIKey.GetApiKey(a.ctx, &propertyv1.GetApiKeyRequest{}))(t, "none", fault.TokenNotFound)
		key := must(a.APIKey.CreateApiKey(a.ctx, &propertyv1.CreateApiKeyRequest{}))(t).GetApiKey()
		refused(a.APIKey.CreateApiKey(a.ctx, &propertyv1.CreateApiKeyRequest{}))(t, "second", fault.AlreadyExists)
		refused(b.APIKey.RevokeApiKey(b.ctx, &propertyv1.RevokeApiKeyRequest{}))(t, "another's", fault.TokenNotFound)
		who, err := a.w.deps.Partners.Authenticate(a.Context(), partner.Credentials{APIKey: key})
		if err != nil || who.PropertyID != a.id {
			t.Errorf("got %+v, %v", who, err)
		}
		next := must(a.APIKey.RotateApiKey(a.ctx, &propertyv1.RotateApiKeyRequest{OverlapMinutes: 5}))(t)
		if _, err := a.w.deps.Partners.Authenticate(a.Context(), partner.Credentials{APIKey: key}); err != nil {
			t.Errorf("during the overlap: %v", err)
		}
		shown := must(a.APIKey.GetApiKey(a.ctx, &propertyv1.GetApiKeyRequest{}))(t)
		same(t, "the newest", next.GetData().GetId(), shown.GetData().GetId())
		if former := shown.GetFormer(); len(former) != 1 || former[0].GetId() == next.GetData().GetId() || former[0].GetExpiresAt() == nil {
			t.Errorf("the key in its overlap: %v", former)
		}
		must(a.APIKey.RevokeApiKey(a.ctx, &propertyv1.RevokeApiKeyRequest{}))(t)
		for _, k := range []string{key, next.GetApiKey()} {
			if _, err := a.w.deps.Partners.Authenticate(a.Context(), partner.Credentials{APIKey: k}); err == nil {
				t.Error("revoked, it works")
			}
		}
	})
}

// The form of one room reads what it is mapped to without the rest of the list. A bed is shown with the name of its room.
func TestWhatOneSpaceIsMappedTo(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		in := a.integration()
		a.w.write(t, func(tx *db.Tx) error {
			_, err := a.w.deps.Mappings.Record(tx, a.id, in, space.Reading{Spaces: []space.Listed{
				{ExternalID: "x-1", Type: space.Room, Name: "Room 101", IsActive: true},
				{ExternalID: "x-2", Type: space.Dorm, Name: "Attic", IsActive: true},
				{ExternalID: "x-3", Type: space.Bed, Name: "Bed 1", ParentExternalID: "x-2", IsActive: true},
				{ExternalID: "x-4", Type: space.Bed, Name: "Bed 2", ParentExternalID: "x-9", IsActive: true},
			}})
			return err
		})
		r101, r102 := a.room("101"), a.room("102")
		must(a.Mapping.SetMapping(a.ctx, &propertyv1.SetMappingRequest{IntegrationId: in, ExternalId: "x-1", SpaceId: r101}))(t)
		read := func(of *tenant, r *propertyv1.ListPartnerSpacesRequest) (list []string) {
			t.Helper()
			r.IntegrationId = in
			answer := must(of.Mapping.ListPartnerSpaces(of.ctx, r))(t).GetData()
			if int(answer.GetTotal()) != len(answer.GetList()) {
				t.Errorf("%v: %d of %d", r, len(answer.GetList()), answer.GetTotal())
			}
			for _, p := range answer.GetList() {
				list = append(list, p.GetParentName()+"/"+p.GetName())
			}
			return list
		}
		same(t, "of a mapped room", []string{"/Room 101"}, read(a, &propertyv1.ListPartnerSpacesRequest{SpaceId: r101}))
		same(t, "of a room without a mapping", []string(nil), read(a, &propertyv1.ListPartnerSpacesRequest{SpaceId: r102}))
		same(t, "not mapped", []string{"/Attic", "Attic/Bed 1", "/Bed 2"}, read(a, &propertyv1.ListPartnerSpacesRequest{UnmappedOnly: true}))
		made := must(a.Mapping.CreateMissingSpaces(a.ctx, &propertyv1.CreateMissingSpacesRequest{IntegrationId: in}))(t).GetData().GetList()
		same(t, "the dorm of a created bed", "Attic/Bed 1", made[len(made)-1].GetParentName()+"/"+made[len(made)-1].GetName())
		bed := must(a.Mapping.ListPartnerSpaces(a.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in, SpaceId: made[len(made)-1].GetSpaceId()}))(t).GetData().GetList()[0]
		same(t, "the dorm of a mapped bed", "Attic/Bed 1", bed.GetParentSpaceName()+"/"+bed.GetSpaceName())
		must(a.Mapping.UnsetMapping(a.ctx, &propertyv1.UnsetMappingRequest{IntegrationId: in, ExternalId: "x-3"}))(t)
		for _, p := range must(a.Mapping.ListPartnerSpaces(a.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in}))(t).GetData().GetList() {
			if p.GetExternalId() == "x-3" {
				same(t, "the dorm of a suggested bed", "Attic/Bed 1", p.GetSuggestedParentSpaceName()+"/"+p.GetSuggestedSpaceName())
			}
		}
		refused(b.Mapping.ListPartnerSpaces(b.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in, SpaceId: r101}))(t, "of another property", fault.IntegrationNotFound)
	})
}

// A preview names the spaces that a call would create, and stores none of them.
func TestMissingSpacesAreCreated(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		a.room("101")
		in := a.integration()
		a.listed(in, "101", "102", "103")
		create := func(r *propertyv1.CreateMissingSpacesRequest) *propertyv1.CreateMissingSpacesResponse {
			r.IntegrationId = in
			return must(a.Mapping.CreateMissingSpaces(a.ctx, r))(t)
		}
		partners := func() (creatable []string, seen string) {
			found := must(a.Mapping.ListPartnerSpaces(a.ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: in}))(t).GetData()
			for _, p := range found.GetList() {
				if p.GetCreatable() {
					creatable = append(creatable, p.GetName())
				}
			}
			return creatable, found.GetLastChangeId()
		}
		creatable, seen := partners()
		same(t, "creatable", []string{"102", "103"}, creatable)
		preview := create(&propertyv1.CreateMissingSpacesRequest{ValidateOnly: true})
		if list := preview.GetData().GetList(); len(list) != 2 || list[0].GetName() != "102" || list[0].GetSpaceId() != "" || list[0].GetExternalId() != "x-102" || preview.GetPreview() == nil || preview.GetChangeId() != "" {
			t.Errorf("the preview: %v", preview)
		}
		same(t, "spaces after the preview", 1, int(must(a.Space.ListSpaces(a.ctx, &propertyv1.ListSpacesRequest{}))(t).GetData().GetTotal()))
		made := create(&propertyv1.CreateMissingSpacesRequest{LastChangeId: seen})
		if list := made.GetData().GetList(); len(list) != 2 || list[1].GetSpaceId() == "" || made.GetChangeId() == "" || made.GetData().GetLeft() != 0 {
			t.Errorf("created: %v", made)
		}
		refused(a.Mapping.CreateMissingSpaces(a.ctx, &propertyv1.CreateMissingSpacesRequest{IntegrationId: in, LastChangeId: seen}))(t, "after a change", fault.Outdated)
		creatable, _ = partners()
		same(t, "creatable afterwards", []string(nil), creatable)
		if again := create(&propertyv1.CreateMissingSpacesRequest{}); len(again.GetData().GetList()) != 0 || again.GetChangeId() != "" {
			t.Errorf("again: %v", again)
		}
		must(a.Mapping.UndoMappingChange(a.ctx, &propertyv1.UndoMappingChangeRequest{Id: made.GetChangeId()}))(t)
	})
}
