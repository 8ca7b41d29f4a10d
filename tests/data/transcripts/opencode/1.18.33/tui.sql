BEGIN TRANSACTION;
CREATE TABLE `event_sequence` (
 `aggregate_id` text PRIMARY KEY,
 `seq` integer NOT NULL,
 `owner_id` text
 );
INSERT INTO "event_sequence" VALUES('ses_dd71d5101ffeW6r76J9FC3K8Q0',130,NULL);
CREATE TABLE `message` (
 `id` text PRIMARY KEY,
 `session_id` text NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `data` text NOT NULL,
 CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
 );
INSERT INTO "message" VALUES('msg_228e2af19001o1OaEZS2ZDN2ZD','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982274329,1795982275625,'{"role":"user","time":{"created":1795982274329},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e2af30001bx63jrKFqABs16','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982274352,1795982275555,'{"parentID":"msg_228e2af19001o1OaEZS2ZDN2ZD","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982274352,"completed":1795982275554},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e2c724001LFNTBTioxA4XuX','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280484,1795982282165,'{"role":"user","time":{"created":1795982280484},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[{"file":"notes.txt","patch":"Index: notes.txt\n===================================================================\n--- notes.txt\t\n+++ notes.txt\t\n@@ -0,0 +1,2 @@\n+one\n+three\n","additions":2,"deletions":0,"status":"added"}]}}');
INSERT INTO "message" VALUES('msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280505,1795982280877,'{"parentID":"msg_228e2c724001LFNTBTioxA4XuX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982280505,"completed":1795982280876},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e2c8ae001FYfZ2pefEpPjqH','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280878,1795982281267,'{"parentID":"msg_228e2c724001LFNTBTioxA4XuX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982280878,"completed":1795982281267},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e2ca35001rJR8LV8tVh5Pwi','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281269,1795982281509,'{"parentID":"msg_228e2c724001LFNTBTioxA4XuX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982281269,"completed":1795982281508},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281511,1795982281898,'{"parentID":"msg_228e2c724001LFNTBTioxA4XuX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982281511,"completed":1795982281898},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e2ccac0011Mpx0K13vfGTm9','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281900,1795982282098,'{"parentID":"msg_228e2c724001LFNTBTioxA4XuX","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982281900,"completed":1795982282097},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e2eb30001AxBYewO1QJDYqF','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982289712,1795982289947,'{"role":"user","time":{"created":1795982289712},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e2eb60001dUbquT2E90sgOf','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982289760,1795982294899,'{"parentID":"msg_228e2eb30001AxBYewO1QJDYqF","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982289760,"completed":1795982294898},"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}');
INSERT INTO "message" VALUES('msg_228e3138e001L4s8Jm3HkGCnQS','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300046,1795982300638,'{"role":"user","time":{"created":1795982300046},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e313b7001zGScPbHzElmhDz','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300087,1795982300598,'{"parentID":"msg_228e3138e001L4s8Jm3HkGCnQS","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982300087,"completed":1795982300595},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e337e2001ZqD2UIyG395u3S','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982309346,1795982309347,'{"time":{"created":1795982309346},"role":"user","agent":"build","model":{"providerID":"mock","modelID":"mock-model"}}');
INSERT INTO "message" VALUES('msg_228e337e5001q9g5EbwUwRJ1Ap','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982309349,1795982309364,'{"parentID":"msg_228e337e2001ZqD2UIyG395u3S","mode":"build","agent":"build","cost":0,"path":{"cwd":"/home/user/project","root":"/home/user/project"},"time":{"created":1795982309349,"completed":1795982309364},"role":"assistant","tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock"}');
INSERT INTO "message" VALUES('msg_228e34be70012ZoTSmmkoWVfDh','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982314471,1795982318673,'{"role":"user","time":{"created":1795982314471},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e34bef001fMOLOiDd43qvpb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982314479,1795982318652,'{"parentID":"msg_228e34be70012ZoTSmmkoWVfDh","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982314479,"completed":1795982318651},"finish":"tool-calls"}');
CREATE TABLE "migration" (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL);
INSERT INTO "migration" VALUES('20260127222353_familiar_lady_ursula',1795982264240);
INSERT INTO "migration" VALUES('20260211171708_add_project_commands',1795982264243);
INSERT INTO "migration" VALUES('20260213144116_wakeful_the_professor',1795982264243);
INSERT INTO "migration" VALUES('20260225215848_workspace',1795982264243);
INSERT INTO "migration" VALUES('20260227213759_add_session_workspace_id',1795982264243);
INSERT INTO "migration" VALUES('20260228203230_blue_harpoon',1795982264243);
INSERT INTO "migration" VALUES('20260303231226_add_workspace_fields',1795982264243);
INSERT INTO "migration" VALUES('20260309230000_move_org_to_state',1795982264243);
INSERT INTO "migration" VALUES('20260312043431_session_message_cursor',1795982264243);
INSERT INTO "migration" VALUES('20260323234822_events',1795982264243);
INSERT INTO "migration" VALUES('20260410174513_workspace-name',1795982264243);
INSERT INTO "migration" VALUES('20260413175956_chief_energizer',1795982264243);
INSERT INTO "migration" VALUES('20260423070820_add_icon_url_override',1795982264243);
INSERT INTO "migration" VALUES('20260427172553_slow_nightmare',1795982264243);
INSERT INTO "migration" VALUES('20260428004200_add_session_path',1795982264243);
INSERT INTO "migration" VALUES('20260501142318_next_venus',1795982264243);
INSERT INTO "migration" VALUES('20260504145000_add_sync_owner',1795982264244);
INSERT INTO "migration" VALUES('20260507164347_add_workspace_time',1795982264244);
INSERT INTO "migration" VALUES('20260510033149_session_usage',1795982264244);
INSERT INTO "migration" VALUES('20260511000411_data_migration_state',1795982264244);
INSERT INTO "migration" VALUES('20260511173437_session-metadata',1795982264244);
INSERT INTO "migration" VALUES('20260601010001_normalize_storage_paths',1795982264254);
INSERT INTO "migration" VALUES('20260601202201_amazing_prowler',1795982264254);
INSERT INTO "migration" VALUES('20260602002951_lowly_union_jack',1795982264254);
INSERT INTO "migration" VALUES('20260602182828_add_project_directories',1795982264254);
INSERT INTO "migration" VALUES('20260603001617_session_message_projection_indexes',1795982264259);
INSERT INTO "migration" VALUES('20260603040000_session_message_projection_order',1795982264259);
INSERT INTO "migration" VALUES('20260603141458_session_input_inbox',1795982264259);
INSERT INTO "migration" VALUES('20260603160727_jittery_ezekiel_stane',1795982264259);
INSERT INTO "migration" VALUES('20260604172448_event_sourced_session_input',1795982264260);
INSERT INTO "migration" VALUES('20260605003541_add_session_context_snapshot',1795982264260);
INSERT INTO "migration" VALUES('20260605042240_add_context_epoch_agent',1795982264260);
INSERT INTO "migration" VALUES('20260611035744_credential',1795982264260);
INSERT INTO "migration" VALUES('20260611192811_lush_chimera',1795982264260);
INSERT INTO "migration" VALUES('20260612174303_project_dir_strategy',1795982264260);
INSERT INTO "migration" VALUES('20260622142730_simplify_session_context_epoch',1795982264260);
INSERT INTO "migration" VALUES('20260622170816_reset_v2_session_state',1795982264260);
INSERT INTO "migration" VALUES('20260622202450_simplify_session_input',1795982264260);
CREATE TABLE `part` (
 `id` text PRIMARY KEY,
 `message_id` text NOT NULL,
 `session_id` text NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `data` text NOT NULL,
 CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
 );
INSERT INTO "part" VALUES('prt_228e2af1b001pp1htVMmmNFb3j','msg_228e2af19001o1OaEZS2ZDN2ZD','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982274338,1795982274340,'{"type":"text","text":"say hello from the terminal"}');
INSERT INTO "part" VALUES('prt_228e2b37a001zpHVqgiuBPwSeR','msg_228e2af30001bx63jrKFqABs16','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982275450,1795982275455,'{"snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2b380001WlHL8BwMy7WonU','msg_228e2af30001bx63jrKFqABs16','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982275456,1795982275459,'{"type":"text","text":"hello","time":{"start":1795982275456,"end":1795982275458}}');
INSERT INTO "part" VALUES('prt_228e2b3b8001mF79y4Pi05xE7k','msg_228e2af30001bx63jrKFqABs16','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982275512,1795982275513,'{"reason":"stop","snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2c725001uSy8N1TilyPvLJ','msg_228e2c724001LFNTBTioxA4XuX','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280493,1795982280494,'{"type":"text","text":"write notes please"}');
INSERT INTO "part" VALUES('prt_228e2c7d700162dCIpBegzq2eZ','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280663,1795982280664,'{"snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2c7d9001SBJNSa1Fm44bmE','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280665,1795982280668,'{"type":"reasoning","text":"I think.","time":{"start":1795982280665,"end":1795982280667}}');
INSERT INTO "part" VALUES('prt_228e2c7dc001OwzzOmrn7PyOOT','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280668,1795982280678,'{"type":"text","text":"Writing.","time":{"start":1795982280668,"end":1795982280678}}');
INSERT INTO "part" VALUES('prt_228e2c7de0013yA3oWy7oEHcXG','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280670,1795982280686,'{"type":"tool","tool":"write","callID":"call_752ab8f76ce149ffa9147942","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","content":"one\ntwo\n"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/home/user/project/notes.txt","exists":false,"truncated":false},"title":"notes.txt","time":{"start":1795982280676,"end":1795982280686}}}');
INSERT INTO "part" VALUES('prt_228e2c872001mta4LEfyJrbHNX','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280818,1795982280819,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2c8aa001pcWatTtR1GMgii','msg_228e2c739001Y3aO5v9PCA5aNB','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280874,1795982280875,'{"type":"patch","hash":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e2c8f8001nZ3wRw2KIYc3zg','msg_228e2c8ae001FYfZ2pefEpPjqH','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280952,1795982280953,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2c8fa001Ef6Dqx9nMiEN1d','msg_228e2c8ae001FYfZ2pefEpPjqH','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982280954,1795982281142,'{"type":"tool","tool":"bash","callID":"call_ddee77ee3aff4f49bbab5bff","state":{"status":"completed","input":{"command":"cat notes.txt"},"output":"one\ntwo\n","metadata":{"output":"one\ntwo\n","exit":0,"truncated":false},"title":"cat notes.txt","time":{"start":1795982280959,"end":1795982281141}}}');
INSERT INTO "part" VALUES('prt_228e2ca11001qiDga7IWYcYTJq','msg_228e2c8ae001FYfZ2pefEpPjqH','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281233,1795982281234,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2ca89001FMVE0O4NC0F6om','msg_228e2ca35001rJR8LV8tVh5Pwi','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281353,1795982281356,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2ca90001VlaNEdwSQNZRh7','msg_228e2ca35001rJR8LV8tVh5Pwi','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281360,1795982281401,'{"type":"tool","tool":"bash","callID":"call_0650292e1b1b4acc8e3287ae","state":{"status":"completed","input":{"command":"echo broken; exit 3"},"output":"broken\n","metadata":{"output":"broken\n","exit":3,"truncated":false},"title":"echo broken; exit 3","time":{"start":1795982281363,"end":1795982281400}}}');
INSERT INTO "part" VALUES('prt_228e2caf5001IIzAuZW1XCl29v','msg_228e2ca35001rJR8LV8tVh5Pwi','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281462,1795982281463,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2cb9d001iCyb8C1Jxrzfuq','msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281630,1795982281631,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2cba0001C4O4fFY4FTB9oh','msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281632,1795982281672,'{"type":"tool","tool":"edit","callID":"call_8adf738f10a6484296dd3d4b","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","oldString":"two","newString":"three"},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","filediff":{"file":"/home/user/project/notes.txt","patch":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","additions":1,"deletions":1},"truncated":false},"title":"notes.txt","time":{"start":1795982281637,"end":1795982281671}}}');
INSERT INTO "part" VALUES('prt_228e2cba7001WBg1XGrzcce02X','msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281639,1795982281702,'{"type":"tool","tool":"bash","callID":"call_2d25ee396f0849eb8f521a15","state":{"status":"completed","input":{"command":"true"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"true","time":{"start":1795982281643,"end":1795982281701}}}');
INSERT INTO "part" VALUES('prt_228e2cc70001Jy74bl5BV3K7Gx','msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281840,1795982281841,'{"reason":"tool-calls","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2cca8001QifUtNXVfcI7jb','msg_228e2cb27001BxSAduVRJoh7qb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281896,1795982281897,'{"type":"patch","hash":"b9082baab7e62affd86216ac636fbf06f8699a56","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e2cd02001nqiyfynq9RNb4z','msg_228e2ccac0011Mpx0K13vfGTm9','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281986,1795982281987,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2cd04001uZwMPaWP3J7cwS','msg_228e2ccac0011Mpx0K13vfGTm9','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982281988,1795982281990,'{"type":"text","text":"Notes written.","time":{"start":1795982281988,"end":1795982281990}}');
INSERT INTO "part" VALUES('prt_228e2cd4b0016jqUxVaopNxXaJ','msg_228e2ccac0011Mpx0K13vfGTm9','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982282059,1795982282060,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e2eb30002o04K5YXjh2yJhH','msg_228e2eb30001AxBYewO1QJDYqF','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982289726,1795982289727,'{"type":"text","text":"a slow answer please"}');
INSERT INTO "part" VALUES('prt_228e2ec70001rVIKGGJFHsgWUK','msg_228e2eb60001dUbquT2E90sgOf','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982290032,1795982290033,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e2ec72001doLRdFn1xE5eKM','msg_228e2eb60001dUbquT2E90sgOf','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982290034,1795982294898,'{"type":"text","text":"This takes long, very long indeed.","time":{"start":1795982290034,"end":1795982294897}}');
INSERT INTO "part" VALUES('prt_228e3138f001feAl6mMHuuO3bQ','msg_228e3138e001L4s8Jm3HkGCnQS','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300056,1795982300056,'{"type":"text","text":"Shout the word heron as loud as you can."}');
INSERT INTO "part" VALUES('prt_228e31550001ZR0d5KoaRazDcH','msg_228e313b7001zGScPbHzElmhDz','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300496,1795982300497,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e31552001cPMdK3LFvX4BeY','msg_228e313b7001zGScPbHzElmhDz','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300498,1795982300504,'{"type":"text","text":"GREAT","time":{"start":1795982300498,"end":1795982300503}}');
INSERT INTO "part" VALUES('prt_228e31597001oxMn39VGRlAwqW','msg_228e313b7001zGScPbHzElmhDz','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982300567,1795982300568,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e337e4001O2y9cby2JXZrgJ','msg_228e337e2001ZqD2UIyG395u3S','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982309348,1795982309348,'{"type":"text","text":"The following tool was executed by the user","synthetic":true}');
INSERT INTO "part" VALUES('prt_228e337e6001439DtHDeB9xmDl','msg_228e337e5001q9g5EbwUwRJ1Ap','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982309350,1795982309368,'{"type":"tool","tool":"bash","callID":"01M8ME6DZ6TZ4QCXD3T4S3RB01","state":{"status":"completed","time":{"start":1795982309350,"end":1795982309364},"input":{"command":"echo typed; exit 2"},"title":"","metadata":{"output":"typed\n"},"output":"typed\n"}}');
INSERT INTO "part" VALUES('prt_228e34be7002ajNzYPo7RcpbuK','msg_228e34be70012ZoTSmmkoWVfDh','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982314473,1795982314474,'{"type":"text","text":"remove the folder"}');
INSERT INTO "part" VALUES('prt_228e34c16001c5J8niXa995Mvu','msg_228e34bef001fMOLOiDd43qvpb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982314518,1795982314520,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e34c1a001lzWzGL3gyfz1cv','msg_228e34bef001fMOLOiDd43qvpb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982314522,1795982318615,'{"type":"tool","tool":"bash","callID":"call_bc92e0984fa74c4fa82d9395","state":{"status":"error","input":{"command":"rm -rf build"},"error":"The user rejected permission to use this specific tool call.","time":{"start":1795982314529,"end":1795982318614}}}');
INSERT INTO "part" VALUES('prt_228e35c25001IVM8ZN4uzccKFS','msg_228e34bef001fMOLOiDd43qvpb','ses_dd71d5101ffeW6r76J9FC3K8Q0',1795982318629,1795982318630,'{"reason":"tool-calls","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
CREATE TABLE `project` (
 `id` text PRIMARY KEY,
 `worktree` text NOT NULL,
 `vcs` text,
 `name` text,
 `icon_url` text,
 `icon_url_override` text,
 `icon_color` text,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `time_initialized` integer,
 `sandboxes` text NOT NULL,
 `commands` text
 );
INSERT INTO "project" VALUES('7dff7694c147b95838cc3bc63bc55cb6cac42798','/home/user/project','git',NULL,NULL,NULL,NULL,1795982265495,1795982265495,NULL,'[]',NULL);
CREATE TABLE `session` (
 `id` text PRIMARY KEY,
 `project_id` text NOT NULL,
 `workspace_id` text,
 `parent_id` text,
 `slug` text NOT NULL,
 `directory` text NOT NULL,
 `path` text,
 `title` text NOT NULL,
 `version` text NOT NULL,
 `share_url` text,
 `summary_additions` integer,
 `summary_deletions` integer,
 `summary_files` integer,
 `summary_diffs` text,
 `metadata` text,
 `cost` real DEFAULT 0 NOT NULL,
 `tokens_input` integer DEFAULT 0 NOT NULL,
 `tokens_output` integer DEFAULT 0 NOT NULL,
 `tokens_reasoning` integer DEFAULT 0 NOT NULL,
 `tokens_cache_read` integer DEFAULT 0 NOT NULL,
 `tokens_cache_write` integer DEFAULT 0 NOT NULL,
 `revert` text,
 `permission` text,
 `agent` text,
 `model` text,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `time_compacting` integer,
 `time_archived` integer,
 CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
 );
INSERT INTO "session" VALUES('ses_dd71d5101ffeW6r76J9FC3K8Q0','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'shiny-squid','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,9600,320,0,2400,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock"}',1795982274302,1795982318654,NULL,NULL);
CREATE TABLE `session_input` (
 `id` text PRIMARY KEY,
 `session_id` text NOT NULL,
 `prompt` text NOT NULL,
 `delivery` text NOT NULL,
 `admitted_seq` integer NOT NULL,
 `promoted_seq` integer,
 `time_created` integer NOT NULL,
 CONSTRAINT `fk_session_input_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
 );
CREATE TABLE `session_message` (
 `id` text PRIMARY KEY,
 `session_id` text NOT NULL,
 `type` text NOT NULL,
 `seq` integer NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `data` text NOT NULL,
 CONSTRAINT `fk_session_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
 );
CREATE TABLE `todo` (
 `session_id` text NOT NULL,
 `content` text NOT NULL,
 `status` text NOT NULL,
 `priority` text NOT NULL,
 `position` integer NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 CONSTRAINT `todo_pk` PRIMARY KEY(`session_id`, `position`),
 CONSTRAINT `fk_todo_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
 );
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_input_session_pending_delivery_seq_idx` ON `session_input` (`session_id`,`promoted_seq`,`delivery`,`admitted_seq`);
CREATE UNIQUE INDEX `session_input_session_admitted_seq_idx` ON `session_input` (`session_id`,`admitted_seq`);
CREATE UNIQUE INDEX `session_input_session_promoted_seq_idx` ON `session_input` (`session_id`,`promoted_seq`);
CREATE UNIQUE INDEX `session_message_session_seq_idx` ON `session_message` (`session_id`,`seq`);
CREATE INDEX `session_message_session_type_seq_idx` ON `session_message` (`session_id`,`type`,`seq`);
CREATE INDEX `session_message_session_time_created_id_idx` ON `session_message` (`session_id`,`time_created`,`id`);
CREATE INDEX `session_message_time_created_idx` ON `session_message` (`time_created`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
CREATE INDEX `todo_session_idx` ON `todo` (`session_id`);
COMMIT;
