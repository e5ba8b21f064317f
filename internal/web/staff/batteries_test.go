package staff

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// fallingLocks is an API with locks whose batteries are between 21 and 40 %.
type fallingLocks struct {
	house
	count, asked int
}

func (l *fallingLocks) ListLocks(context.Context, *propertyv1.ListLocksRequest, ...grpc.CallOption) (*propertyv1.ListLocksResponse, error) {
	list := &propertyv1.LockList{}
	for i := range l.count {
		list.List = append(list.List, &propertyv1.Lock{Id: fmt.Sprint("lck_", i), Name: fmt.Sprint("Lock ", i), Status: &propertyv1.LockStatus{Online: true, BatteryPercent: new(int32(21 + i%20))}})
	}
	return &propertyv1.ListLocksResponse{Data: list}, nil
}

func (l *fallingLocks) GetLockHistory(context.Context, *propertyv1.GetLockHistoryRequest, ...grpc.CallOption) (*propertyv1.GetLockHistoryResponse, error) {
	l.asked++
	return &propertyv1.GetLockHistoryResponse{}, nil
}

// The page says how many batteries it did not forecast.
func TestBatteriesWithoutForecast(t *testing.T) {
	for _, c := range []struct {
		count int
		says  map[string]string
	}{
		{maxForecasts, map[string]string{"en": ""}},
		{maxForecasts + 1, map[string]string{"en": "1 more battery has at most 40 %", "de": "1 weitere Batterie hat", "es": "1 batería más tiene", "fr": "1 autre pile a"}},
		{maxForecasts + 7, map[string]string{"en": "7 more batteries have at most 40 %", "de": "7 weitere Batterien haben", "es": "7 baterías más tienen", "fr": "7 autres piles ont"}},
	} {
		for language, text := range c.says {
			l := &fallingLocks{house: house{rights: []string{"readLocks"}}, count: c.count}
			body := serveIn(t, API{Sessions: l, Properties: l, Locks: l}, language, "/app/locks/batteries", nil).Body.String()
			if !strings.Contains(body, text) || strings.Contains(body, "more batter") != (language == "en" && text != "") || l.asked != maxForecasts {
				_, main, _ := strings.Cut(body, "<h1>")
				t.Errorf("%d locks, %s: asked %d times: %s", c.count, language, l.asked, main)
			}
		}
	}
}
