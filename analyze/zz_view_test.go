package analyze
import ("testing";"os";"time")
func TestZZView(t *testing.T){
 dir:=os.Getenv("VIEW"); if dir=="" {t.Skip()}
 at:=time.Now()
 r,err:=Run(t.Context(),Options{Folders:[]string{dir},Out:"/tmp/qs-out"});if err!=nil{t.Fatal(err)}
 t.Log(time.Since(at)); t.Log("\n"+r.Text())
}
