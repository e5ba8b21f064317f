package bench

type serverPart struct{ process }

func (*serverPart) Close() error { return nil }
