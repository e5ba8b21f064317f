package slot

import "testing"

func TestASealedPINOpensOnlyInItsPlace(t *testing.T) {
	key, err := NewSealKey()
	if err != nil {
		t.Fatal(err)
	}
	place := Seal{BridgeID: "brg_1", Address: "front", Slot: 3, Generation: 7}
	sealed, err := place.Close(key.PublicKey().Bytes(), "048151")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSealKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	if pin, err := place.Open(again, sealed); err != nil || pin != "048151" {
		t.Fatalf("opened %v, %v", pin == "048151", err)
	}
	for name, other := range map[string]Seal{
		"bridge":     {"brg_2", "front", 3, 7},
		"address":    {"brg_1", "back", 3, 7},
		"slot":       {"brg_1", "front", 4, 7},
		"generation": {"brg_1", "front", 3, 8},
	} {
		if _, err := other.Open(key, sealed); err == nil {
			t.Errorf("opens for another %s", name)
		}
	}
	stranger, err := NewSealKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Open(stranger, sealed); err == nil {
		t.Error("opens with another key")
	}
	for n := range sealed {
		if _, err := place.Open(key, sealed[:n]); err == nil {
			t.Errorf("opens when cut to %d bytes", n)
		}
	}
}
