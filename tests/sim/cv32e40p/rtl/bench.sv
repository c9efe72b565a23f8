// The CV32E40P with what a retire trace needs, brought out of its pipeline.
module bench (
    input  logic        clk,
    input  logic        reset_n,
    input  logic [31:0] boot_address,

    output logic        fetch_request,
    output logic [31:0] fetch_address,
    input  logic        fetch_valid,
    input  logic [31:0] fetch_data,

    output logic        data_request,
    output logic        data_is_write,
    output logic [ 3:0] data_lanes,
    output logic [31:0] data_address,
    output logic [31:0] data_written,
    input  logic        data_valid,
    input  logic [31:0] data_read,

    // An instruction goes from decode to execute in this cycle.
    output logic        issues,
    output logic [31:0] issued_pc,
    output logic        issued_loads,
    output logic        issued_traps,
    // Register write by the instruction in execute.
    output logic        result_valid,
    output logic [ 5:0] result_register,
    output logic [31:0] result_value,
    // Register write by the oldest load.
    output logic        loaded_valid,
    output logic [ 5:0] loaded_register,
    output logic [31:0] loaded_value
);
  cv32e40p_top #(
      .COREV_PULP(1)
  ) top (
      .clk_i              (clk),
      .rst_ni             (reset_n),
      .pulp_clock_en_i    (1'b1),
      .scan_cg_en_i       (1'b0),
      .boot_addr_i        (boot_address),
      .mtvec_addr_i       (32'h0),
      .dm_halt_addr_i     (32'h0),
      .hart_id_i          (32'h0),
      .dm_exception_addr_i(32'h0),
      .instr_req_o        (fetch_request),
      .instr_gnt_i        (1'b1),
      .instr_rvalid_i     (fetch_valid),
      .instr_addr_o       (fetch_address),
      .instr_rdata_i      (fetch_data),
      .data_req_o         (data_request),
      .data_gnt_i         (1'b1),
      .data_rvalid_i      (data_valid),
      .data_we_o          (data_is_write),
      .data_be_o          (data_lanes),
      .data_addr_o        (data_address),
      .data_wdata_o       (data_written),
      .data_rdata_i       (data_read),
      .irq_i              (32'h0),
      .irq_ack_o          (),
      .irq_id_o           (),
      .debug_req_i        (1'b0),
      .debug_havereset_o  (),
      .debug_running_o    (),
      .debug_halted_o     (),
      .fetch_enable_i     (1'b1),
      .core_sleep_o       ()
  );

  assign issues          = top.core_i.id_stage_i.minstret;
  assign issued_pc       = top.core_i.id_stage_i.pc_id_i;
  assign issued_loads    = top.core_i.id_stage_i.regfile_we_id;
  assign issued_traps    = top.core_i.id_stage_i.is_decoding_o && top.core_i.id_stage_i.id_valid_o && !issues;
  assign result_valid    = top.core_i.id_stage_i.register_file_i.we_b_i;
  assign result_register = top.core_i.id_stage_i.register_file_i.waddr_b_i;
  assign result_value    = top.core_i.id_stage_i.register_file_i.wdata_b_i;
  assign loaded_valid    = top.core_i.id_stage_i.register_file_i.we_a_i;
  assign loaded_register = top.core_i.id_stage_i.register_file_i.waddr_a_i;
  assign loaded_value    = top.core_i.id_stage_i.register_file_i.wdata_a_i;
endmodule
