package db_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

func BenchmarkWrite(b *testing.B) {
	for _, engine := range dbtest.Engines {
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", engine, callers), func(b *testing.B) {
				d := dbtest.Open(b, engine)
				for i := range callers {
					if err := d.Write(b.Context(), put(fmt.Sprint(i))); err != nil {
						b.Fatal(err)
					}
				}
				var next atomic.Int64
				b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					id := fmt.Sprint(next.Add(1) % int64(callers))
					for pb.Next() {
						err := d.Write(b.Context(), func(tx *db.Tx) error {
							return tx.Secret.UpdateOneID(id).SetSealed([]byte("x")).Exec(tx.Context())
						})
						if err != nil {
							b.Fatal(err)
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			if err := d.Write(b.Context(), put("a")); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				if _, err := d.View(b.Context()).Secret.Get(b.Context(), "a"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
