"""Outputs of Slurm 22.05: real ones, with other users and paths, and rows of `sacct -P` to write."""

from pathlib import Path

SACCT = """\
JobID|JobIDRaw|JobName|User|Account|State|Submit|Start|End|Elapsed|Suspended|Timelimit|NNodes|NTasks|TRESUsageInTot|TRESUsageOutTot
1|1|writer|ann|physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:37|00:00:04|00:00:00|00:05:00|2|||
1.batch|1.batch|batch||physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:37|00:00:04|00:00:00||1|1\
|cpu=00:00:00,energy=0,fs/disk=65238,mem=12308K,pages=0,vmem=287916K|energy=0,fs/disk=3850
1.0|1.0|bash||physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:35|00:00:02|00:00:00||2|2\
|cpu=00:00:00,energy=0,fs/disk=41986562,mem=3344K,pages=0,vmem=5840K|energy=0,fs/disk=41943229
1.1|1.1|dd||physics|COMPLETED|2026-11-18T20:12:36|2026-11-18T20:12:36|2026-11-18T20:12:36|00:00:00|00:00:00||1|1|energy=0|energy=0
3|3|unlim|ann|physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:36|00:00:03|00:00:00|UNLIMITED|1|||
4|4|whole|ann|physics|PENDING|2026-11-18T20:12:33|Unknown|Unknown|00:00:00|00:00:00|1-02:04:00|4|||
5|5|e|bob|physics|CANCELLED by 7|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:37|00:00:04|00:00:00|00:02:00|1|||
5.batch|5.batch|batch||physics|CANCELLED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:37|00:00:04|00:00:00||1|1\
|cpu=00:00:00,energy=0,fs/disk=11085,mem=3200K,pages=0,vmem=5512K|energy=0,fs/disk=1
7|7|requeued|bob|physics|REQUEUED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:37|00:00:04|00:00:00|00:02:00|1|||
10|10|running|ann|physics|RUNNING|2026-11-18T20:12:33|2026-11-18T20:12:33|Unknown|00:01:43|00:00:00|00:30:00|1|||
2_1|11|arr|pipe|ann|physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:35|00:00:02|00:00:00|00:02:00|1|||
2_1.batch|11.batch|batch||physics|COMPLETED|2026-11-18T20:12:33|2026-11-18T20:12:33|2026-11-18T20:12:35|00:00:02|00:00:00||1|1\
|cpu=00:00:00,energy=0,fs/disk=11083,mem=3160K,pages=0,vmem=5512K|energy=0,fs/disk=1
17_[1-4%2]|17|later|ann|physics|PENDING|2026-11-18T20:12:40|Unknown|Unknown|00:00:00|00:00:00|00:02:00|1|||
"""
"""`sacct -P -D`: steps, one too short to be counted, a job without a limit, one that waits, one that was cancelled, one that
was requeued, one that runs, a task of an array of which the name has a |, and tasks that wait."""

COMPLETION = """\
JobId=8 UserId=ann(1001) GroupId=phy(100) Name=failed JobState=FAILED Partition=main TimeLimit=1 \
StartTime=2026-11-18T20:09:02 EndTime=2026-11-18T20:09:02 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/h ReservationName= \
Tres=cpu=1,mem=8000M,node=1,billing=1 Account=physics QOS=normal WcKey= Cluster=test SubmitTime=2026-11-18T20:09:01 \
EligibleTime=2026-11-18T20:09:01 DerivedExitCode=0:0 ExitCode=3:0\x20
JobId=12 UserId=ann(1001) GroupId=phy(100) Name=a long | name JobState=COMPLETED Partition=main TimeLimit=2 \
StartTime=2026-11-18T20:09:02 EndTime=2026-11-18T20:09:04 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/h ReservationName= \
Tres=cpu=1,mem=8000M,node=1,billing=1 Account=physics QOS=normal WcKey= Cluster=test SubmitTime=2026-11-18T20:09:01 \
EligibleTime=2026-11-18T20:09:02 ArrayJobId=2 ArrayTaskId=2 DerivedExitCode=0:0 ExitCode=0:0\x20
JobId=3 UserId=bob(1002) GroupId=phy(100) Name=unlim JobState=COMPLETED Partition=main TimeLimit=UNLIMITED \
StartTime=2026-11-18T20:09:02 EndTime=2026-11-18T20:09:05 NodeList=n[1-2] NodeCnt=2 ProcCnt=2 WorkDir=/h \
ReservationName= Tres=cpu=1,mem=8000M,node=1,billing=1 Account=physics QOS=normal WcKey= Cluster=test \
SubmitTime=2026-11-18T20:09:01 EligibleTime=2026-11-18T20:09:01 DerivedExitCode=0:0 ExitCode=0:0\x20
JobId=6 UserId=bob(1002) GroupId=phy(100) Name=cancelled JobState=CANCELLED Partition=main TimeLimit=Partition_Limit \
StartTime=2026-11-18T20:09:05 EndTime=2026-11-18T20:09:05 NodeList=(null) NodeCnt=0 ProcCnt=0 WorkDir=/h \
ReservationName= Tres=cpu=4,mem=32000M,node=4,billing=4 Account=physics QOS=normal WcKey= Cluster=test \
SubmitTime=2026-11-18T20:09:01 EligibleTime=2026-11-18T21:09:01 DerivedExitCode=0:0 ExitCode=0:0\x20
JobId=7 UserId=bob(1002) GroupId=phy(100) Name=requeued JobState=PENDING Partition=main TimeLimit=2 \
StartTime=2026-11-18T20:09:02 EndTime=2026-11-18T20:09:05 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/h ReservationName= \
Tres=cpu=1,mem=8000M,node=1,billing=1 Account=physics QOS=normal WcKey= Cluster=test SubmitTime=2026-11-18T20:09:01 \
EligibleTime=2026-11-18T20:09:01 DerivedExitCode=0:0 ExitCode=0:0\x20
"""
"""A file of jobcomp/filetxt; what is requeued is written as PENDING when its first run ends."""

COLUMNS = (
    *(
        "JobID",
        "JobIDRaw",
        "JobName",
        "User",
        "Account",
        "State",
        "Submit",
        "Start",
        "End",
        "Elapsed",
        "Timelimit",
        "NNodes",
    ),
    *("NTasks", "TRESUsageInTot", "TRESUsageOutTot"),
)


def row(job: str, **cells: str) -> str:
    """A line of `sacct -P` with the columns `COLUMNS`: a job of an hour on two nodes unless the cells say otherwise."""
    usual = {
        "JobIDRaw": job,
        "JobName": "climate",
        "User": "ann",
        "Account": "physics",
        "State": "COMPLETED",
        "Submit": "2026-03-02T09:00:00",
        "Start": "2026-03-02T10:00:00",
        "End": "2026-03-02T11:00:00",
        "Elapsed": "01:00:00",
        "Timelimit": "02:00:00",
        "NNodes": "2",
    }
    return "|".join({"JobID": job, **usual, **cells}.get(name, "") for name in COLUMNS)


def step(job: str, read: int, written: int, **cells: str) -> str:
    """A line of a step with bytes."""
    usage = {"TRESUsageInTot": f"cpu=00:00:10,fs/disk={read},mem=10M", "TRESUsageOutTot": f"energy=0,fs/disk={written}"}
    return row(job, User="", NTasks="2", **usage, **cells)


def write(path: Path, *rows: str) -> str:
    """A file of these rows under the header."""
    path.write_text("\n".join(("|".join(COLUMNS), *rows)) + "\n")
    return str(path)
