BEGIN TRANSACTION;
CREATE TABLE attempts (
  key TEXT PRIMARY KEY, date TEXT NOT NULL, ending TEXT NOT NULL, kernel TEXT NOT NULL, mangled TEXT NOT NULL,
  file TEXT NOT NULL, device TEXT NOT NULL, backend TEXT NOT NULL, model TEXT NOT NULL, speedup REAL, low REAL,
  high REAL, code TEXT NOT NULL REFERENCES codes(sha256), body TEXT NOT NULL);
INSERT INTO "attempts" VALUES('7d27b807adcf1c8d2f22bde098cf849118eedc9b36629d1b14c437eb506c1715','2026-12-01T10:00:00+00:00','proven','kernel(float *, int)','_Z6kernelPfi','kernel.cu','NVIDIA H200','catalogue','catalogue',1.5,1.48499999999999987565e+00,1.51500000000000012434e+00,'c6e45c1dc34c22c0510597ecb74245f45eb5f116386aa12624131f9ba55fa1a6','{"author":{"backend":"catalogue","cost_usd":null,"input_tokens":null,"model":"catalogue","output_tokens":null,"prompt":"","subset":"","temperature":null},"base_name":"kernel","bit_exact":null,"block":null,"compared":null,"device":{"compute_capability":[9,0],"driver":"","name":"NVIDIA H200"},"ending":"proven","explanation":[],"file":"kernel.cu","findings":[{"bound":null,"confidence":null,"expects":[],"file":null,"id":"PC-1","level":"note","line":null,"margin":0.0,"not_issued":0,"rule":"long_scoreboard","samples":1000,"share":0.8,"source":"pc","text":""}],"functions":[],"gates":[],"grid":null,"kernel":"kernel(float *, int)","language":"cuda","mangled":"_Z6kernelPfi","not_checked":[],"number":1,"origin":{"job":"","licence":"Apache-2.0","optimas":"","project":"test","recorded":"","report_sha256":"","source_sha256":""},"patch":"--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1 +1 @@\n-a += 1;\n+a -= 1;\n","schema":"optimas.attempt/1","scores":null,"sentence":"","share":null,"standing":null,"steps":[{"evidence":["PC-1"],"expects":[],"function":"kernel","lines":[1,1],"reason":"","transformation":"unroll-loop"}],"time_ns":null,"timing":{"clock":"cupti","gpu":null,"input":"default","kernel":{"after_ns":200000.0,"before_ns":300000.0,"high":1.5150000000000001,"low":1.4849999999999999,"speedup":1.5},"pairs":5,"program":null},"tools":[]}');
INSERT INTO "attempts" VALUES('76280c2b594cda3b92273e338c9c968ec69de2f79c8577013e03fbc8ccd7c8b4','2026-12-01T10:00:00+00:00','refuted','kernel(float *, int)','_Z6kernelPfi','kernel.cu','NVIDIA H200','catalogue','catalogue',NULL,NULL,NULL,'3fd95ea55aaca0f46627ff79b901ff2e59aa9d7c3e7614f68cbdc1baf758d526','{"author":{"backend":"catalogue","cost_usd":null,"input_tokens":null,"model":"catalogue","output_tokens":null,"prompt":"","subset":"","temperature":null},"base_name":"kernel","bit_exact":null,"block":null,"compared":null,"device":{"compute_capability":[9,0],"driver":"","name":"NVIDIA H200"},"ending":"refuted","explanation":[],"file":"kernel.cu","findings":[{"bound":null,"confidence":null,"expects":[],"file":null,"id":"PC-1","level":"note","line":null,"margin":0.0,"not_issued":0,"rule":"bank-conflicts","samples":1000,"share":0.8,"source":"pc","text":""}],"functions":[],"gates":[],"grid":null,"kernel":"kernel(float *, int)","language":"cuda","mangled":"_Z6kernelPfi","not_checked":[],"number":2,"origin":{"job":"","licence":"Apache-2.0","optimas":"","project":"test","recorded":"","report_sha256":"","source_sha256":""},"patch":"--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1 +1 @@\n-a += 2;\n+a -= 2;\n","schema":"optimas.attempt/1","scores":null,"sentence":"the kernel is not faster","share":null,"standing":null,"steps":[{"evidence":["PC-1"],"expects":[],"function":"kernel","lines":[1,1],"reason":"","transformation":"pad-shared"}],"time_ns":null,"timing":null,"tools":[]}');
CREATE TABLE codes (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "codes" VALUES('3fd95ea55aaca0f46627ff79b901ff2e59aa9d7c3e7614f68cbdc1baf758d526','__global__ void kernel(float* a, int n) { a[threadIdx.x] += 2; }');
INSERT INTO "codes" VALUES('c6e45c1dc34c22c0510597ecb74245f45eb5f116386aa12624131f9ba55fa1a6','__global__ void kernel(float* a, int n) { a[threadIdx.x] += 1; }');
CREATE TABLE findings (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, rule TEXT NOT NULL, share REAL NOT NULL);
INSERT INTO "findings" VALUES('7d27b807adcf1c8d2f22bde098cf849118eedc9b36629d1b14c437eb506c1715','long_scoreboard',0.8);
INSERT INTO "findings" VALUES('76280c2b594cda3b92273e338c9c968ec69de2f79c8577013e03fbc8ccd7c8b4','bank-conflicts',0.8);
CREATE TABLE steps (
  attempt TEXT NOT NULL REFERENCES attempts(key) ON DELETE CASCADE, transformation TEXT NOT NULL, rule TEXT NOT NULL);
INSERT INTO "steps" VALUES('7d27b807adcf1c8d2f22bde098cf849118eedc9b36629d1b14c437eb506c1715','unroll-loop','');
INSERT INTO "steps" VALUES('7d27b807adcf1c8d2f22bde098cf849118eedc9b36629d1b14c437eb506c1715','unroll-loop','long_scoreboard');
INSERT INTO "steps" VALUES('76280c2b594cda3b92273e338c9c968ec69de2f79c8577013e03fbc8ccd7c8b4','pad-shared','');
INSERT INTO "steps" VALUES('76280c2b594cda3b92273e338c9c968ec69de2f79c8577013e03fbc8ccd7c8b4','pad-shared','bank-conflicts');
CREATE INDEX attempts_code ON attempts(code);
CREATE INDEX findings_attempt ON findings(attempt);
CREATE INDEX findings_rule ON findings(rule);
CREATE INDEX steps_attempt ON steps(attempt);
CREATE INDEX steps_rule ON steps(rule, transformation);
PRAGMA user_version = 1;
PRAGMA application_id = 175220160;
COMMIT;
