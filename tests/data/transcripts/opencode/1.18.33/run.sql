BEGIN TRANSACTION;
CREATE TABLE `event_sequence` (
 `aggregate_id` text PRIMARY KEY,
 `seq` integer NOT NULL,
 `owner_id` text
 );
INSERT INTO "event_sequence" VALUES('ses_dd72005c0ffepuv8HCLc3Fnn98',15,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71ff0c3ffe5Ens44Xu2JfmV5',83,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71fce33ffewt9qKfq600iwoI',47,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71fb8ffffeyeVWoY5tXoNCk3',10,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71f50b2ffe30TWqbLnKIOBDX',9,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71f35a7ffexSidkrPweL8Ew6',15,NULL);
INSERT INTO "event_sequence" VALUES('ses_dd71f2111ffeEfwWSeiO98311g',16,NULL);
CREATE TABLE `message` (
 `id` text PRIMARY KEY,
 `session_id` text NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `data` text NOT NULL,
 CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
 );
INSERT INTO "message" VALUES('msg_228dffacf001H8WGPQXX1DiRAP','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982097103,1795982098129,'{"role":"user","time":{"created":1795982097103},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228dffe0e001U7z6UjH8yi5LlH','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982097934,1795982099481,'{"parentID":"msg_228dffacf001H8WGPQXX1DiRAP","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982097934,"completed":1795982099480},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e00f9d001A02yxmVpCTEWam','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982102429,1795982106001,'{"role":"user","time":{"created":1795982102429},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[{"file":"notes.txt","patch":"Index: notes.txt\n===================================================================\n--- notes.txt\t\n+++ notes.txt\t\n@@ -0,0 +1,2 @@\n+one\n+three\n","additions":2,"deletions":0,"status":"added"}]}}');
INSERT INTO "message" VALUES('msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982103920,1795982105295,'{"parentID":"msg_228e00f9d001A02yxmVpCTEWam","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982103920,"completed":1795982105294},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e01ada001FcSythDdG1UYiH','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105306,1795982105541,'{"parentID":"msg_228e00f9d001A02yxmVpCTEWam","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105306,"completed":1795982105540},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e01bc7001IinqCJxf4SAchR','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105543,1795982105756,'{"parentID":"msg_228e00f9d001A02yxmVpCTEWam","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105543,"completed":1795982105755},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105758,1795982105929,'{"parentID":"msg_228e00f9d001A02yxmVpCTEWam","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105758,"completed":1795982105928},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e01d4a001CYIOL2kNrWUhWI','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105930,1795982106027,'{"parentID":"msg_228e00f9d001A02yxmVpCTEWam","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105930,"completed":1795982106026},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e0230f001kCdCK6WsmAzxxw','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982107407,1795982108048,'{"role":"user","time":{"created":1795982107407},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e02565001LqmI7yAT769HsT','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982108005,1795982108798,'{"parentID":"msg_228e0230f001kCdCK6WsmAzxxw","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1509,"input":1200,"output":9,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982108005,"completed":1795982108797},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e031df001ffIl0cDm0jbce5','ses_dd71fce33ffewt9qKfq600iwoI',1795982102429,1795982111201,'{"role":"user","time":{"created":1795982102429},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[{"file":"notes.txt","patch":"Index: notes.txt\n===================================================================\n--- notes.txt\t\n+++ notes.txt\t\n@@ -0,0 +1,2 @@\n+one\n+three\n","additions":2,"deletions":0,"status":"added"}]}}');
INSERT INTO "message" VALUES('msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982103920,1795982111216,'{"parentID":"msg_228e031df001ffIl0cDm0jbce5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982103920,"completed":1795982105294},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e0325f001pm9yZevPKaxSsb','ses_dd71fce33ffewt9qKfq600iwoI',1795982105306,1795982111327,'{"parentID":"msg_228e031df001ffIl0cDm0jbce5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105306,"completed":1795982105540},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e032750015yQWOZWJIkRP28','ses_dd71fce33ffewt9qKfq600iwoI',1795982105543,1795982111349,'{"parentID":"msg_228e031df001ffIl0cDm0jbce5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105543,"completed":1795982105755},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982105758,1795982111361,'{"parentID":"msg_228e031df001ffIl0cDm0jbce5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105758,"completed":1795982105928},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_228e03299001QfynUz5S6EGZK8','ses_dd71fce33ffewt9qKfq600iwoI',1795982105930,1795982111386,'{"parentID":"msg_228e031df001ffIl0cDm0jbce5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982105930,"completed":1795982106026},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e032ae001d1QyTVaJ7vtlHt','ses_dd71fce33ffewt9qKfq600iwoI',1795982107407,1795982111406,'{"role":"user","time":{"created":1795982107407},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e032b4001zZeZLZmlpAe3wv','ses_dd71fce33ffewt9qKfq600iwoI',1795982108005,1795982111416,'{"parentID":"msg_228e032ae001d1QyTVaJ7vtlHt","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1509,"input":1200,"output":9,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982108005,"completed":1795982108797},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e032f9001U24t8EODyPQZGu','ses_dd71fce33ffewt9qKfq600iwoI',1795982111481,1795982112794,'{"role":"user","time":{"created":1795982111481},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e03775001LFaE0qirQs52aB','ses_dd71fce33ffewt9qKfq600iwoI',1795982112629,1795982114342,'{"parentID":"msg_228e032f9001U24t8EODyPQZGu","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982112629,"completed":1795982114341},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e0478f001kPybIAl7Iwaquc','ses_dd71fb8ffffeyeVWoY5tXoNCk3',1795982116752,1795982118127,'{"role":"user","time":{"created":1795982116752},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e04bf0001oGon0sKPfXhrzz','ses_dd71fb8ffffeyeVWoY5tXoNCk3',1795982117872,1795982117873,'{"parentID":"msg_228e0478f001kPybIAl7Iwaquc","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982117872}}');
INSERT INTO "message" VALUES('msg_228e0b00c0010TOtw6bt70S4ke','ses_dd71f50b2ffe30TWqbLnKIOBDX',1795982143500,1795982144997,'{"role":"user","time":{"created":1795982143500},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e0b4f1001ieUmcDFhS7RJi1','ses_dd71f50b2ffe30TWqbLnKIOBDX',1795982144753,1795982146548,'{"parentID":"msg_228e0b00c0010TOtw6bt70S4ke","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982144753,"completed":1795982146545},"error":{"name":"APIError","data":{"message":"bad request","statusCode":400,"isRetryable":false,"responseBody":"{\"error\": {\"code\": \"invalid_request_error\", \"param\": null, \"type\": \"invalid_request_error\", \"message\": \"bad request\"}}","metadata":{"url":"http://127.0.0.1/v1/chat/completions"}}}}');
INSERT INTO "message" VALUES('msg_228e0cf4c001CBYEF3ce19FbrM','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982151501,1795982151668,'{"role":"user","time":{"created":1795982151501},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e0cf650012ZNbBDer9HbsCW','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982151525,1795982152772,'{"parentID":"msg_228e0cf4c001CBYEF3ce19FbrM","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982151525,"completed":1795982152767},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_228e0df9e001foSCehKI1VfXVF','ses_dd71f2111ffeEfwWSeiO98311g',1795982155678,1795982156565,'{"role":"user","time":{"created":1795982155678},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_228e0e20a001kRm1vZVJPHM3da','ses_dd71f2111ffeEfwWSeiO98311g',1795982156299,1795982157410,'{"parentID":"msg_228e0df9e001foSCehKI1VfXVF","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/user/project","root":"/home/user/project"},"cost":0,"tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"modelID":"mock-model","providerID":"mock","time":{"created":1795982156299,"completed":1795982157410},"finish":"tool-calls"}');
CREATE TABLE "migration" (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL);
INSERT INTO "migration" VALUES('20260127222353_familiar_lady_ursula',1795982095238);
INSERT INTO "migration" VALUES('20260211171708_add_project_commands',1795982095238);
INSERT INTO "migration" VALUES('20260213144116_wakeful_the_professor',1795982095238);
INSERT INTO "migration" VALUES('20260225215848_workspace',1795982095239);
INSERT INTO "migration" VALUES('20260227213759_add_session_workspace_id',1795982095239);
INSERT INTO "migration" VALUES('20260228203230_blue_harpoon',1795982095239);
INSERT INTO "migration" VALUES('20260303231226_add_workspace_fields',1795982095239);
INSERT INTO "migration" VALUES('20260309230000_move_org_to_state',1795982095239);
INSERT INTO "migration" VALUES('20260312043431_session_message_cursor',1795982095239);
INSERT INTO "migration" VALUES('20260323234822_events',1795982095239);
INSERT INTO "migration" VALUES('20260410174513_workspace-name',1795982095239);
INSERT INTO "migration" VALUES('20260413175956_chief_energizer',1795982095239);
INSERT INTO "migration" VALUES('20260423070820_add_icon_url_override',1795982095239);
INSERT INTO "migration" VALUES('20260427172553_slow_nightmare',1795982095252);
INSERT INTO "migration" VALUES('20260428004200_add_session_path',1795982095252);
INSERT INTO "migration" VALUES('20260501142318_next_venus',1795982095252);
INSERT INTO "migration" VALUES('20260504145000_add_sync_owner',1795982095252);
INSERT INTO "migration" VALUES('20260507164347_add_workspace_time',1795982095252);
INSERT INTO "migration" VALUES('20260510033149_session_usage',1795982095252);
INSERT INTO "migration" VALUES('20260511000411_data_migration_state',1795982095252);
INSERT INTO "migration" VALUES('20260511173437_session-metadata',1795982095252);
INSERT INTO "migration" VALUES('20260601010001_normalize_storage_paths',1795982095252);
INSERT INTO "migration" VALUES('20260601202201_amazing_prowler',1795982095253);
INSERT INTO "migration" VALUES('20260602002951_lowly_union_jack',1795982095253);
INSERT INTO "migration" VALUES('20260602182828_add_project_directories',1795982095253);
INSERT INTO "migration" VALUES('20260603001617_session_message_projection_indexes',1795982095253);
INSERT INTO "migration" VALUES('20260603040000_session_message_projection_order',1795982095253);
INSERT INTO "migration" VALUES('20260603141458_session_input_inbox',1795982095253);
INSERT INTO "migration" VALUES('20260603160727_jittery_ezekiel_stane',1795982095253);
INSERT INTO "migration" VALUES('20260604172448_event_sourced_session_input',1795982095253);
INSERT INTO "migration" VALUES('20260605003541_add_session_context_snapshot',1795982095253);
INSERT INTO "migration" VALUES('20260605042240_add_context_epoch_agent',1795982095253);
INSERT INTO "migration" VALUES('20260611035744_credential',1795982095253);
INSERT INTO "migration" VALUES('20260611192811_lush_chimera',1795982095253);
INSERT INTO "migration" VALUES('20260612174303_project_dir_strategy',1795982095253);
INSERT INTO "migration" VALUES('20260622142730_simplify_session_context_epoch',1795982095253);
INSERT INTO "migration" VALUES('20260622170816_reset_v2_session_state',1795982095253);
INSERT INTO "migration" VALUES('20260622202450_simplify_session_input',1795982095253);
CREATE TABLE `part` (
 `id` text PRIMARY KEY,
 `message_id` text NOT NULL,
 `session_id` text NOT NULL,
 `time_created` integer NOT NULL,
 `time_updated` integer NOT NULL,
 `data` text NOT NULL,
 CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
 );
INSERT INTO "part" VALUES('prt_228dffad6001hPqbwh80iy2daw','msg_228dffacf001H8WGPQXX1DiRAP','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982097113,1795982097114,'{"type":"text","text":"say hello"}');
INSERT INTO "part" VALUES('prt_228e003bb001mlPLGagESElCYJ','msg_228dffe0e001U7z6UjH8yi5LlH','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982099387,1795982099411,'{"snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e003d500172GNAVb3OpNtew','msg_228dffe0e001U7z6UjH8yi5LlH','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982099414,1795982099424,'{"type":"text","text":"hello","time":{"start":1795982099413,"end":1795982099424}}');
INSERT INTO "part" VALUES('prt_228e003f7001Anm2hqxtg2Yymv','msg_228dffe0e001U7z6UjH8yi5LlH','ses_dd72005c0ffepuv8HCLc3Fnn98',1795982099447,1795982099449,'{"reason":"stop","snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e00fa3001jgqRPQB44d1FGJ','msg_228e00f9d001A02yxmVpCTEWam','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982102445,1795982102446,'{"type":"text","text":"write notes now"}');
INSERT INTO "part" VALUES('prt_228e01a1a001oy851NF1jBD7dv','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105114,1795982105120,'{"snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e01a24001YcCSNgVuq1UvLv','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105124,1795982105127,'{"type":"reasoning","text":"I think.","time":{"start":1795982105124,"end":1795982105126}}');
INSERT INTO "part" VALUES('prt_228e01a2b001gSRaTF9zP9kKR6','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105131,1795982105143,'{"type":"text","text":"Writing.","time":{"start":1795982105131,"end":1795982105142}}');
INSERT INTO "part" VALUES('prt_228e01a2e001EU23pahf2KDRkL','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105134,1795982105165,'{"type":"tool","tool":"write","callID":"call_5308fe3df63b4544b15b2e31","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","content":"one\ntwo\n"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/home/user/project/notes.txt","exists":false,"truncated":false},"title":"notes.txt","time":{"start":1795982105140,"end":1795982105164}}}');
INSERT INTO "part" VALUES('prt_228e01a84001L3t3yAy7nHr5Hw','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105220,1795982105221,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e01ac7001rXDWenmvlEdGpu','msg_228e0156f0010nXM8WX92r56Aj','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105287,1795982105292,'{"type":"patch","hash":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e01b1c001nTqYVJ6e38tplB','msg_228e01ada001FcSythDdG1UYiH','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105372,1795982105373,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e01b1e001pNjw0a46heexxZ','msg_228e01ada001FcSythDdG1UYiH','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105374,1795982105463,'{"type":"tool","tool":"bash","callID":"call_79dbf74fec334ce1afc54121","state":{"status":"completed","input":{"command":"cat notes.txt"},"output":"one\ntwo\n","metadata":{"output":"one\ntwo\n","exit":0,"truncated":false},"title":"cat notes.txt","time":{"start":1795982105378,"end":1795982105463}}}');
INSERT INTO "part" VALUES('prt_228e01b9c001FuBMHM4VKCEwDz','msg_228e01ada001FcSythDdG1UYiH','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105500,1795982105501,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e01bf1001T4IS5Ofli8nMdu','msg_228e01bc7001IinqCJxf4SAchR','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105585,1795982105595,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e01bfd001Tu5otLca06JGyh','msg_228e01bc7001IinqCJxf4SAchR','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105597,1795982105640,'{"type":"tool","tool":"bash","callID":"call_85e057aec9864a2c989f38ff","state":{"status":"completed","input":{"command":"echo broken; exit 3"},"output":"broken\n","metadata":{"output":"broken\n","exit":3,"truncated":false},"title":"echo broken; exit 3","time":{"start":1795982105601,"end":1795982105639}}}');
INSERT INTO "part" VALUES('prt_228e01c6e001IEtOVV4y4psy14','msg_228e01bc7001IinqCJxf4SAchR','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105710,1795982105711,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e01ce2001vbHlkxcdsHvDSE','msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105826,1795982105827,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e01ce4001OEReSyEGOvUixt','msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105828,1795982105868,'{"type":"tool","tool":"edit","callID":"call_b02a6a8e22eb43059ddf1a73","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","oldString":"two","newString":"three"},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","filediff":{"file":"/home/user/project/notes.txt","patch":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","additions":1,"deletions":1},"truncated":false},"title":"notes.txt","time":{"start":1795982105833,"end":1795982105867}}}');
INSERT INTO "part" VALUES('prt_228e01cea001JYURPCpnrQ6fzU','msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105834,1795982105853,'{"type":"tool","tool":"bash","callID":"call_8c449d1ec2dd438396dd54b8","state":{"status":"completed","input":{"command":"true"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"true","time":{"start":1795982105837,"end":1795982105851}}}');
INSERT INTO "part" VALUES('prt_228e01d2c001Y1y0U76ru7L0Qs','msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105900,1795982105901,'{"reason":"tool-calls","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e01d460013ozzW1R3U9PUfY','msg_228e01c9e0016SOnGiShtDwfWS','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105926,1795982105927,'{"type":"patch","hash":"b9082baab7e62affd86216ac636fbf06f8699a56","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e01d760011Nvta44arMFxQe','msg_228e01d4a001CYIOL2kNrWUhWI','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105974,1795982105975,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e01d78001vZ0QtafYr8fOi4','msg_228e01d4a001CYIOL2kNrWUhWI','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982105976,1795982105977,'{"type":"text","text":"Notes written.","time":{"start":1795982105976,"end":1795982105977}}');
INSERT INTO "part" VALUES('prt_228e01d98001jlICOcz7oyrlfl','msg_228e01d4a001CYIOL2kNrWUhWI','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982106008,1795982106008,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e02311001cnlhjNyvJsZvsE','msg_228e0230f001kCdCK6WsmAzxxw','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982107414,1795982107415,'{"type":"text","text":"thanks a lot"}');
INSERT INTO "part" VALUES('prt_228e02822001crpSWjzmzelzhf','msg_228e02565001LqmI7yAT769HsT','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982108706,1795982108708,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e02825001OcloM51aGyTwJ8','msg_228e02565001LqmI7yAT769HsT','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982108709,1795982108713,'{"type":"text","text":"You are welcome.","time":{"start":1795982108709,"end":1795982108712}}');
INSERT INTO "part" VALUES('prt_228e0285d001JFaAK632bjXCof','msg_228e02565001LqmI7yAT769HsT','ses_dd71ff0c3ffe5Ens44Xu2JfmV5',1795982108765,1795982108767,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1509,"input":1200,"output":9,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e031e2001sEBQKCXRNyMAMD','msg_228e031df001ffIl0cDm0jbce5','ses_dd71fce33ffewt9qKfq600iwoI',1795982111202,1795982111203,'{"type":"text","text":"write notes now"}');
INSERT INTO "part" VALUES('prt_228e031f1001rvZaksrmGwWq0f','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111217,1795982111218,'{"snapshot":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e031f20012Przf8CvOM1AYP','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111218,1795982111219,'{"type":"reasoning","text":"I think.","time":{"start":1795982105124,"end":1795982105126}}');
INSERT INTO "part" VALUES('prt_228e031f30010YDU0aXYP4jnha','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111219,1795982111229,'{"type":"text","text":"Writing.","time":{"start":1795982105131,"end":1795982105142}}');
INSERT INTO "part" VALUES('prt_228e0325a001VSe4fEgJygpgsB','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111322,1795982111323,'{"type":"tool","tool":"write","callID":"call_5308fe3df63b4544b15b2e31","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","content":"one\ntwo\n"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/home/user/project/notes.txt","exists":false,"truncated":false},"title":"notes.txt","time":{"start":1795982105140,"end":1795982105164}}}');
INSERT INTO "part" VALUES('prt_228e0325c001DGDZIIDzUQf1Rg','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111324,1795982111325,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e0325e001hvdwpSncmVh6na','msg_228e031ef001ZmK97PAgH2qQ3a','ses_dd71fce33ffewt9qKfq600iwoI',1795982111326,1795982111327,'{"type":"patch","hash":"7cc1e35320a72feabbab2a319ba80bb20b96b22d","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e03260001VOkPUzcJkOvVlV','msg_228e0325f001pm9yZevPKaxSsb','ses_dd71fce33ffewt9qKfq600iwoI',1795982111328,1795982111328,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e03261001UiMRvtt6L3y0Gc','msg_228e0325f001pm9yZevPKaxSsb','ses_dd71fce33ffewt9qKfq600iwoI',1795982111329,1795982111329,'{"type":"tool","tool":"bash","callID":"call_79dbf74fec334ce1afc54121","state":{"status":"completed","input":{"command":"cat notes.txt"},"output":"one\ntwo\n","metadata":{"output":"one\ntwo\n","exit":0,"truncated":false},"title":"cat notes.txt","time":{"start":1795982105378,"end":1795982105463}}}');
INSERT INTO "part" VALUES('prt_228e03262001ihM3WMgJBU8sSi','msg_228e0325f001pm9yZevPKaxSsb','ses_dd71fce33ffewt9qKfq600iwoI',1795982111330,1795982111330,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e03276001MxXJUS1zxx0GL0','msg_228e032750015yQWOZWJIkRP28','ses_dd71fce33ffewt9qKfq600iwoI',1795982111350,1795982111352,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e03278001NCrkpOFmfZ4lC8','msg_228e032750015yQWOZWJIkRP28','ses_dd71fce33ffewt9qKfq600iwoI',1795982111352,1795982111356,'{"type":"tool","tool":"bash","callID":"call_85e057aec9864a2c989f38ff","state":{"status":"completed","input":{"command":"echo broken; exit 3"},"output":"broken\n","metadata":{"output":"broken\n","exit":3,"truncated":false},"title":"echo broken; exit 3","time":{"start":1795982105601,"end":1795982105639}}}');
INSERT INTO "part" VALUES('prt_228e0327f001ZE6REICAL2N9Mq','msg_228e032750015yQWOZWJIkRP28','ses_dd71fce33ffewt9qKfq600iwoI',1795982111359,1795982111360,'{"reason":"tool-calls","snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e03281001nsS2zICYFstZ52','msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982111361,1795982111362,'{"snapshot":"b9082baab7e62affd86216ac636fbf06f8699a56","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e03282001GXuNfVEPh6t2Te','msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982111362,1795982111363,'{"type":"tool","tool":"edit","callID":"call_b02a6a8e22eb43059ddf1a73","state":{"status":"completed","input":{"filePath":"/home/user/project/notes.txt","oldString":"two","newString":"three"},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","filediff":{"file":"/home/user/project/notes.txt","patch":"Index: /home/user/project/notes.txt\n===================================================================\n--- /home/user/project/notes.txt\n+++ /home/user/project/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n","additions":1,"deletions":1},"truncated":false},"title":"notes.txt","time":{"start":1795982105833,"end":1795982105867}}}');
INSERT INTO "part" VALUES('prt_228e03296001NvCoUeeZyGML0x','msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982111382,1795982111383,'{"type":"tool","tool":"bash","callID":"call_8c449d1ec2dd438396dd54b8","state":{"status":"completed","input":{"command":"true"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"true","time":{"start":1795982105837,"end":1795982105851}}}');
INSERT INTO "part" VALUES('prt_228e03297001E1Dc19gu51Wok1','msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982111383,1795982111384,'{"reason":"tool-calls","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e03298001pFu91OrRb6v5bL','msg_228e03280001g2q761YUS0EhiH','ses_dd71fce33ffewt9qKfq600iwoI',1795982111384,1795982111385,'{"type":"patch","hash":"b9082baab7e62affd86216ac636fbf06f8699a56","files":["/home/user/project/notes.txt"]}');
INSERT INTO "part" VALUES('prt_228e0329a001SllUO4W1xygNKn','msg_228e03299001QfynUz5S6EGZK8','ses_dd71fce33ffewt9qKfq600iwoI',1795982111386,1795982111386,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e0329b001kvpwYaRmBjE4ro','msg_228e03299001QfynUz5S6EGZK8','ses_dd71fce33ffewt9qKfq600iwoI',1795982111387,1795982111391,'{"type":"text","text":"Notes written.","time":{"start":1795982105976,"end":1795982105977}}');
INSERT INTO "part" VALUES('prt_228e032a000124iE59houdo7wI','msg_228e03299001QfynUz5S6EGZK8','ses_dd71fce33ffewt9qKfq600iwoI',1795982111392,1795982111392,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e032af001fX2n19bkI4zByv','msg_228e032ae001d1QyTVaJ7vtlHt','ses_dd71fce33ffewt9qKfq600iwoI',1795982111407,1795982111412,'{"type":"text","text":"thanks a lot"}');
INSERT INTO "part" VALUES('prt_228e032b8001uq5yxm5474J9W7','msg_228e032b4001zZeZLZmlpAe3wv','ses_dd71fce33ffewt9qKfq600iwoI',1795982111416,1795982111416,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e032b9001X4gzytwMNjKzSg','msg_228e032b4001zZeZLZmlpAe3wv','ses_dd71fce33ffewt9qKfq600iwoI',1795982111417,1795982111417,'{"type":"text","text":"You are welcome.","time":{"start":1795982108709,"end":1795982108712}}');
INSERT INTO "part" VALUES('prt_228e032ba001fkctvjZJ7DAo0q','msg_228e032b4001zZeZLZmlpAe3wv','ses_dd71fce33ffewt9qKfq600iwoI',1795982111418,1795982111424,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1509,"input":1200,"output":9,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e032ff001tUCI1yBj5aXvK0','msg_228e032f9001U24t8EODyPQZGu','ses_dd71fce33ffewt9qKfq600iwoI',1795982111489,1795982111489,'{"type":"text","text":"say hello from the fork"}');
INSERT INTO "part" VALUES('prt_228e03d31001lFYMbdV2GriXVk','msg_228e03775001LFaE0qirQs52aB','ses_dd71fce33ffewt9qKfq600iwoI',1795982114097,1795982114104,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e03d43001LZAUVVDJw2unQz','msg_228e03775001LFaE0qirQs52aB','ses_dd71fce33ffewt9qKfq600iwoI',1795982114115,1795982114132,'{"type":"text","text":"hello","time":{"start":1795982114115,"end":1795982114128}}');
INSERT INTO "part" VALUES('prt_228e03e03001tAhJYyJT8kfz7y','msg_228e03775001LFaE0qirQs52aB','ses_dd71fce33ffewt9qKfq600iwoI',1795982114307,1795982114308,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e04795001SNy83tOOhQtMlf','msg_228e0478f001kPybIAl7Iwaquc','ses_dd71fb8ffffeyeVWoY5tXoNCk3',1795982116764,1795982116771,'{"type":"text","text":"a slow answer please"}');
INSERT INTO "part" VALUES('prt_228e050cc001OoJFaKPoiP0MT3','msg_228e04bf0001oGon0sKPfXhrzz','ses_dd71fb8ffffeyeVWoY5tXoNCk3',1795982119116,1795982119135,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e051000019Tc9ZTBODXH79V','msg_228e04bf0001oGon0sKPfXhrzz','ses_dd71fb8ffffeyeVWoY5tXoNCk3',1795982119168,1795982119192,'{"type":"text","text":"","time":{"start":1795982119168}}');
INSERT INTO "part" VALUES('prt_228e0b0120010XYmpKA65t8DGe','msg_228e0b00c0010TOtw6bt70S4ke','ses_dd71f50b2ffe30TWqbLnKIOBDX',1795982143510,1795982143511,'{"type":"text","text":"provoke an error"}');
INSERT INTO "part" VALUES('prt_228e0cf54001le5H1qtonEP2i4','msg_228e0cf4c001CBYEF3ce19FbrM','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982151510,1795982151511,'{"type":"text","text":"Shout the word heron as loud as you can."}');
INSERT INTO "part" VALUES('prt_228e0d3e2001QqhUKuumioEZVj','msg_228e0cf650012ZNbBDer9HbsCW','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982152674,1795982152675,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e0d3e8001N8G4KA8i3TKDFX','msg_228e0cf650012ZNbBDer9HbsCW','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982152680,1795982152682,'{"type":"text","text":"GREAT","time":{"start":1795982152680,"end":1795982152682}}');
INSERT INTO "part" VALUES('prt_228e0d414001lLLoeatfZj5PQC','msg_228e0cf650012ZNbBDer9HbsCW','ses_dd71f35a7ffexSidkrPweL8Ew6',1795982152724,1795982152725,'{"reason":"stop","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
INSERT INTO "part" VALUES('prt_228e0dfa2001PA3gdUgJqqXulg','msg_228e0df9e001foSCehKI1VfXVF','ses_dd71f2111ffeEfwWSeiO98311g',1795982155685,1795982155686,'{"type":"text","text":"remove the folder"}');
INSERT INTO "part" VALUES('prt_228e0e5e5001sRqAH3tFRh53rT','msg_228e0e20a001kRm1vZVJPHM3da','ses_dd71f2111ffeEfwWSeiO98311g',1795982157285,1795982157286,'{"snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-start"}');
INSERT INTO "part" VALUES('prt_228e0e5e7001taaGqeswrzaWjN','msg_228e0e20a001kRm1vZVJPHM3da','ses_dd71f2111ffeEfwWSeiO98311g',1795982157287,1795982157360,'{"type":"tool","tool":"bash","callID":"call_794556761def45deb5187f98","state":{"status":"error","input":{"command":"rm -rf build"},"error":"The user rejected permission to use this specific tool call.","time":{"start":1795982157293,"end":1795982157360}}}');
INSERT INTO "part" VALUES('prt_228e0e651001oXLm19HAYnOIQ3','msg_228e0e20a001kRm1vZVJPHM3da','ses_dd71f2111ffeEfwWSeiO98311g',1795982157394,1795982157395,'{"reason":"tool-calls","snapshot":"6e676774a981340d04c528d05952a15a0ebaf25a","type":"step-finish","tokens":{"total":1540,"input":1200,"output":40,"reasoning":0,"cache":{"write":0,"read":300}},"cost":0}');
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
INSERT INTO "project" VALUES('7dff7694c147b95838cc3bc63bc55cb6cac42798','/home/user/project','git',NULL,NULL,NULL,NULL,1795982095848,1795982154867,NULL,'[]',NULL);
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
INSERT INTO "session" VALUES('ses_dd72005c0ffepuv8HCLc3Fnn98','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'cosmic-nebula','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1200,40,0,300,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982096959,1795982099490,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71ff0c3ffe5Ens44Xu2JfmV5','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'hidden-mountain','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,7200,209,0,1800,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982102332,1795982108804,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71fce33ffewt9qKfq600iwoI','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'tidy-lagoon','/home/user/project','','A title (fork #1)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,8400,249,0,2100,0,NULL,NULL,'build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982111180,1795982114350,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71fb8ffffeyeVWoY5tXoNCk3','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'lucky-falcon','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,0,0,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982116608,1795982118116,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71f50b2ffe30TWqbLnKIOBDX','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'swift-pixel','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,0,0,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982143309,1795982144988,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71f35a7ffexSidkrPweL8Ew6','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'witty-island','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1200,40,0,300,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982150232,1795982152779,NULL,NULL);
INSERT INTO "session" VALUES('ses_dd71f2111ffeEfwWSeiO98311g','7dff7694c147b95838cc3bc63bc55cb6cac42798',NULL,NULL,'eager-garden','/home/user/project','','A title','1.18.33',NULL,0,0,0,NULL,NULL,0.0,1200,40,0,300,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"mock-model","providerID":"mock","variant":"default"}',1795982155503,1795982157417,NULL,NULL);
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
