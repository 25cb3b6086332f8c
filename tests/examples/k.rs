use midplane_tests::timed::*;
fn main(){
 let sizes: Vec<usize> = std::env::args().skip(1).map(|a|a.parse().unwrap()).collect();
 for ext in [[4,2,2],[4,4,2],[4,4,4],[8,4,4]] { for messages in [3,5] { for &bytes in &sizes {
  let mut base=0.0; let mut costs=Costs::BLUE_GENE; if let Ok(v)=std::env::var("S"){costs.search_ns=v.parse().unwrap()} if let Ok(v)=std::env::var("P"){costs.packet_ns=v.parse().unwrap()} if let Ok(v)=std::env::var("C"){costs.call_ns=v.parse().unwrap()}
  for mem in [128<<20, 32, 64, 250_000, 300_000] {
   let t=std::time::Instant::now();
   let m=Killer{extents:ext,messages,bytes,mpi_memory:mem,costs}.run().unwrap();
   if base==0.0 {base=m.ns as f64}
   let n=(ext[0]*ext[1]*ext[2]) as f64*messages as f64;
   println!("{ext:?} x{messages} {bytes}B mem {mem}: {:.1}us x{:.2} busy {:.2} pk {} rts/m {:.2} ncts/m {:.2} notices/m {:.2} peak {} host {:?}", m.ns as f64/1e3, m.ns as f64/base, m.busy, m.packets, m.rts as f64/n, m.ncts as f64/n, m.notices as f64/n, m.peak_bytes,t.elapsed());
  }}}}
}
